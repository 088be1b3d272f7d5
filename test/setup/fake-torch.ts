/** A torch with CUDA as its wheels lay it out, made of libraries of one line, and a server that offers it as an index. */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { arch } from "node:os";
import { dirname, join } from "node:path";
import { crc32 } from "node:zlib";

const machine = arch() === "arm64" ? "aarch64" : "x86_64";

/** Files of an archive by name. */
export type Files = Readonly<Record<string, string | Buffer>>;

/** A zip archive, nothing in it compressed. */
export function zipOf(files: Files): Buffer {
  const [parts, heads] = [[] as Buffer[], [] as Buffer[]];
  let offset = 0;
  for (const [name, content] of Object.entries(files)) {
    const [data, path] = [Buffer.from(content), Buffer.from(name)];
    const common = Buffer.alloc(26);
    common.writeUInt16LE(20, 0);
    common.writeUInt32LE(crc32(data), 10);
    common.writeUInt32LE(data.length, 14);
    common.writeUInt32LE(data.length, 18);
    common.writeUInt16LE(path.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), common, path, data]);
    const rest = Buffer.alloc(14);
    rest.writeUInt32LE(offset, 10);
    heads.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), common, rest, path]));
    parts.push(local);
    offset += local.length;
  }
  const directory = Buffer.concat(heads);
  const end = Buffer.alloc(18);
  end.writeUInt16LE(heads.length, 4);
  end.writeUInt16LE(heads.length, 6);
  end.writeUInt32LE(directory.length, 8);
  end.writeUInt32LE(offset, 12);
  return Buffer.concat([...parts, directory, Buffer.from("PK\x05\x06"), end]);
}

/** The end of NVIDIA's names here: no machine has such libraries of its own. */
export const toolkit = "913";

const made = new Map<string, Promise<Buffer>>();

/** A shared library with one function that needs others; it knows no folder to look in. */
function libraryOf(scratch: string, name: string, needs: readonly string[] = []): Promise<Buffer> {
  const known = made.get(name) ?? compiled(join(scratch, `library-${made.size}`), name, needs);
  made.set(name, known);
  return known;
}

async function compiled(folder: string, name: string, needs: readonly string[]): Promise<Buffer> {
  await mkdir(folder);
  const names = needs.map((each) => each.replace(/\W/g, "_"));
  const own = name.replace(/\W/g, "_");
  const compile = (source: string, out: string, soname: string, links: readonly string[]): void => {
    execFileSync(
      "gcc",
      [
        "-shared",
        "-fPIC",
        "-x",
        "c",
        "-",
        "-o",
        join(folder, out),
        `-Wl,-soname,${soname}`,
        "-x",
        "none",
        "-Wl,--allow-shlib-undefined",
        ...links.map((each) => join(folder, each)),
      ],
      { input: source },
    );
  };
  for (const [i, each] of needs.entries()) compile(`int ${names[i]}(void) { return 1; }`, each, each, []);
  const calls = names.map((each) => ` + ${each}()`).join("");
  const declared = names.map((each) => `int ${each}(void);\n`).join("");
  compile(`${declared}int ${own}(void) { return 1${calls}; }`, "own.so", name, needs);
  return readFile(join(folder, "own.so"));
}

/** Files of a torch, as its wheel has them. */
export async function torchFiles(
  scratch: string,
  { version = "2.13.0", cuda = "13.0" as string | null } = {},
): Promise<Record<string, string | Buffer>> {
  const [major, minor, patch] = version.split(".");
  const header = `#define TORCH_VERSION_MAJOR ${major}\n#define TORCH_VERSION_MINOR ${minor}\n#define TORCH_VERSION_PATCH ${patch}\n`;
  const files: Record<string, string | Buffer> = {
    "torch/version.py": `__version__ = '${version}'\ncuda: Optional[str] = ${cuda === null ? "None" : `'${cuda}'`}\n`,
    "torch/__init__.py": "raise ImportError('not for Python')\n",
    "torch/include/ATen/ATen.h": "",
    "torch/include/torch/headeronly/version.h": header,
    "torch/lib/libc10.so": await libraryOf(scratch, "libc10.so"),
    "torch/lib/libtorch.so": await libraryOf(scratch, "libtorch.so"),
  };
  files["torch/lib/libtorch_cpu.so"] = await libraryOf(scratch, "libtorch_cpu.so", ["libc10.so"]);
  if (cuda === null) return files;
  files["torch/lib/libc10_cuda.so"] = await libraryOf(scratch, "libc10_cuda.so", [
    "libc10.so",
    `libcudart.so.${toolkit}`,
  ]);
  files["torch/lib/libtorch_cuda.so"] = await libraryOf(scratch, "libtorch_cuda.so", [
    "libc10_cuda.so",
    `libcublas.so.${toolkit}`,
  ]);
  return files;
}

/** Files of NVIDIA's wheels by package, as those of CUDA 13 are laid out. */
export async function nvidiaFiles(scratch: string): Promise<Record<string, Files>> {
  const lib = "nvidia/cu13/lib";
  return {
    "nvidia-cuda-runtime": {
      [`${lib}/libcudart.so.${toolkit}`]: await libraryOf(scratch, `libcudart.so.${toolkit}`),
    },
    "nvidia-cublas": {
      [`${lib}/libcublas.so.${toolkit}`]: await libraryOf(scratch, `libcublas.so.${toolkit}`, [
        `libcublasLt.so.${toolkit}`,
      ]),
      [`${lib}/libcublasLt.so.${toolkit}`]: await libraryOf(scratch, `libcublasLt.so.${toolkit}`),
      "nvidia/cu13/include/cublas.h": "",
    },
  };
}

/** Writes an archive's files where an installation would put them. */
export async function unpackTo(folder: string, ...all: readonly Files[]): Promise<void> {
  for (const [name, content] of all.flatMap((files) => Object.entries(files))) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), content);
  }
}

/** A program of one line of shell. */
export async function programAt(path: string, shell: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, `#!/bin/sh\n${shell}\n`);
  await chmod(path, 0o755);
}

/** A GPU and its driver as nvidia-smi tells of them; nvcc beside it. */
export async function fakeGpu(
  bin: string,
  { driver = "580.82.07", capability = "9.0", nvcc = "13.0", memory = "81559", also = "" } = {},
): Promise<void> {
  await programAt(
    join(bin, "nvidia-smi"),
    `echo "NVIDIA H100 80GB HBM3, ${capability}, ${driver}, ${memory}"; ${also && `echo "${also}"`}`,
  );
  await programAt(
    join(bin, "nvcc"),
    `case "$1" in --version) echo "Cuda compilation tools, release ${nvcc}, V${nvcc}.88";; *) echo compute_80; echo compute_90;; esac`,
  );
}

interface Wheel {
  readonly name: string;
  readonly version: string;
  readonly files: Files;
  readonly requires?: readonly string[];
  /** What the page says, where it is not the truth. */
  readonly sha256?: string;
  /** Whether the index has its metadata beside it. @default true */
  readonly hasMetadata?: boolean;
}

/** An index that counts what it is asked, and may break off. */
export interface FakeIndex {
  readonly url: string;
  /** Paths in order, with the range that was asked for. */
  readonly requests: string[];
  /** The next so many answers with a wheel end after half of it. */
  breakOff: number;
  close(): void;
}

/** Serves wheels by tag: `{ cu130: [...] }`. */
export async function fakeIndex(tags: Readonly<Record<string, readonly Wheel[]>>): Promise<FakeIndex> {
  const [texts, bodies] = [new Map<string, string>(), new Map<string, Buffer>()];
  for (const [tag, wheels] of Object.entries(tags))
    for (const { name, version, files, requires = [], sha256, hasMetadata = true } of wheels) {
      const page = `/${tag}/${name}/`;
      const file = `${name.replaceAll("-", "_")}-${encodeURIComponent(version)}-py3-none-manylinux_2_28_${machine}.whl`;
      const metadata = requires.map((line) => `Requires-Dist: ${line}\n`).join("");
      const info = { [`${name.replaceAll("-", "_")}-${version}.dist-info/METADATA`]: metadata };
      const body = zipOf({ ...files, ...info });
      const sum = sha256 ?? createHash("sha256").update(body).digest("hex");
      const beside = hasMetadata ? ' data-core-metadata="sha256=0"' : "";
      const link = `<a href="../files/${file}#sha256=${sum}"${beside}>${file}</a>\n`;
      texts.set(page, (texts.get(page) ?? "") + link);
      if (hasMetadata) texts.set(`/${tag}/files/${file}.metadata`, metadata);
      bodies.set(`/${tag}/files/${file}`, body);
    }
  const requests: string[] = [];
  const index = { breakOff: 0 };
  const server: Server = createServer(({ url = "", method, headers }, response) => {
    requests.push([method === "HEAD" ? "HEAD " : "", url, headers.range ? ` ${headers.range}` : ""].join(""));
    const [text, body] = [texts.get(url), bodies.get(url)];
    if (text !== undefined) return void response.end(text);
    if (body === undefined) return void response.writeHead(404).end();
    const from = Number(/bytes=(\d+)-/.exec(headers.range ?? "")?.[1] ?? 0);
    response.writeHead(from > 0 ? 206 : 200, { "content-length": body.length - from });
    if (method === "HEAD") return void response.end();
    if (index.breakOff === 0) return void response.end(body.subarray(from));
    index.breakOff -= 1;
    response.write(body.subarray(from, from + Math.floor((body.length - from) / 2)), () =>
      // What the other side has not yet read is lost with a connection that breaks.
      setTimeout(() => response.destroy(), 200),
    );
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return Object.assign(index, { url, requests, close: () => void server.close() });
}

/** What torch 2.13 for CUDA 13 asks for, in the words of its metadata. */
export const requiresOfTorch = [
  "filelock",
  'cuda-toolkit[cudart,nvrtc]==13.0.2; platform_system == "Linux"',
  'nvidia-cublas<=13.1.1.3,>=13.1.0.3; platform_system == "Linux"',
  'nvidia-only-on-windows==1; platform_system == "Windows"',
];

/** A marker as NVIDIA's toolkit has them: every machine that a package is made for, and the extra that asks for it. */
const markerOf = (extra: string): string => {
  const linux = ["aarch64", "x86_64"].map(
    (name) => `sys_platform == 'linux' and platform_machine == '${name}'`,
  );
  const all = [...linux, "sys_platform == 'win32' and platform_machine == 'AMD64'"];
  return `(${all.join(" or ")}) and extra == '${extra}'`;
};

/** Every wheel of a complete build for CUDA 13. */
export async function wheelsOfCuda13(scratch: string): Promise<Wheel[]> {
  const nvidia = await nvidiaFiles(scratch);
  const of = (name: string, version: string): Wheel => ({ name, version, files: nvidia[name] ?? {} });
  const old = await torchFiles(scratch, { version: "2.10.0" });
  return [
    { name: "torch", version: "2.13.0+cu130", files: await torchFiles(scratch), requires: requiresOfTorch },
    { name: "torch", version: "2.10.0+cu130", files: old },
    { name: "torch", version: "2.14.0+cu130", files: {} },
    {
      ...{ name: "cuda-toolkit", version: "13.0.2", files: {} },
      requires: [
        `nvidia-cuda-runtime==13.0.96.*; ${markerOf("cudart")}`,
        `nvidia-cufft==12.*; ${markerOf("cufft")}`,
      ],
    },
    of("nvidia-cuda-runtime", "13.0.96"),
    of("nvidia-cuda-runtime", "13.1.2"),
    of("nvidia-cublas", "13.1.0.3"),
    of("nvidia-cublas", "13.4.0.1"),
  ];
}

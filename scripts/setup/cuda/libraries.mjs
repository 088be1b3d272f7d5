/** Finds the libraries that a CUDA build of torch needs, as the loader and Python's torch do, and names the wheel of a missing one. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { dynamicOf } from "./elf.mjs";

/** The wheel of each library, by the beginning of its name; those of the toolkit lost their `-cu<major>` with CUDA 13. */
const wheels = [
  [/^libcublas(Lt)?\.so/, "nvidia-cublas", true],
  [/^libcudart\.so/, "nvidia-cuda-runtime", true],
  [/^libcupti\.so/, "nvidia-cuda-cupti", true],
  [/^libnvrtc/, "nvidia-cuda-nvrtc", true],
  [/^libcufft/, "nvidia-cufft", true],
  [/^libcufile/, "nvidia-cufile", true],
  [/^libcurand\.so/, "nvidia-curand", true],
  [/^libcusolver/, "nvidia-cusolver", true],
  [/^libcusparse\.so/, "nvidia-cusparse", true],
  [/^libnvJitLink\.so/, "nvidia-nvjitlink", true],
  [/^libnvToolsExt|^libnvtx/, "nvidia-nvtx", true],
  [/^libcudnn/, "nvidia-cudnn", false],
  [/^libcusparseLt\.so/, "nvidia-cusparselt", false],
  [/^libnccl\.so/, "nvidia-nccl", false],
  [/^libnvshmem/, "nvidia-nvshmem", false],
];

/** The package that holds a library; undefined for what is not NVIDIA's. */
export function wheelOf(library, cuda) {
  const found = wheels.find(([pattern]) => pattern.test(library));
  if (found === undefined) return undefined;
  const [, name, isOfToolkit] = found;
  const major = Number(cuda.split(".")[0]);
  return isOfToolkit && major >= 13 ? name : `${name}-cu${major}`;
}

/** Folders of the wheels beside a `torch` folder: `nvidia/<what>/lib`, for CUDA 13 `nvidia/cu13/lib`. */
function wheelFolders(torch) {
  const site = dirname(torch);
  const nvidia = join(site, "nvidia");
  const inside = existsSync(nvidia) ? readdirSync(nvidia).sort() : [];
  return [...inside.map((name) => join(nvidia, name, "lib")), join(site, "cusparselt", "lib")];
}

const systemFolders = ["/lib64", "/usr/lib64", "/lib", "/usr/lib", "/usr/local/cuda/lib64"].concat(
  ["x86_64", "aarch64"].map((machine) => `/usr/lib/${machine}-linux-gnu`),
);

/** Names that the loader's cache holds. */
function cachedLibraries() {
  for (const program of ["ldconfig", "/sbin/ldconfig"]) {
    try {
      const lines = execFileSync(program, ["-p"], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
      return new Set([...lines.matchAll(/^\s*(\S+) \(/gm)].map(([, name]) => name));
    } catch {}
  }
  return new Set();
}

let loaders;

function isSystems(name) {
  loaders ??= cachedLibraries();
  return loaders.has(name) || systemFolders.some((folder) => existsSync(join(folder, name)));
}

/**
 * Follows what a torch folder's libraries need. Those of macOS, which has no CUDA, need nothing beside them.
 *
 * @param torch - the folder that holds `lib`
 * @returns `missing`: each with the library that needs it; `needed`: paths of those beside torch in an order in which each
 *   can be opened, as the loader finds by name what is open already, whatever its own paths say
 */
export function librariesOf(torch, { env = process.env } = {}) {
  const own = join(torch, "lib");
  const given = (env.LD_LIBRARY_PATH ?? "").split(":").filter(Boolean);
  const beside = [...wheelFolders(torch), ...given];
  const [seen, needed, missing] = [new Map(), [], []];

  const find = (name, from, paths) => {
    const searched = [
      ...paths.map((path) => resolve(path.replaceAll(/\$ORIGIN|\$\{ORIGIN\}/g, dirname(from)))),
      own,
    ];
    const folder = [...searched, ...beside].find((each) => existsSync(join(each, name)));
    return folder === undefined ? undefined : join(folder, name);
  };
  const follow = (path) => {
    const { needed: names, paths } = dynamicOf(path);
    for (const name of names) {
      if (seen.has(name)) continue;
      const found = find(name, path, paths);
      seen.set(name, found);
      if (found !== undefined) {
        follow(found);
        if (dirname(found) !== own) needed.push(found);
      } else if (!isSystems(name)) missing.push({ library: name, neededBy: basename(path) });
    }
  };
  for (const name of ["libtorch_cpu.so", "libc10_cuda.so", "libtorch_cuda.so"])
    if (existsSync(join(own, name))) follow(join(own, name));
  return { missing, needed };
}

/**
 * Chooses the libtorch to build against, or fetches the pinned one for the CPU into the user's cache.
 *
 * Order: SEEKRL_LIBTORCH; a CUDA build that `seekrl setup cuda` put into the cache; where there is an NVIDIA driver, a CUDA
 * torch of Python; the CPU build in the cache; Python's torch of any kind; `pip download`; the
 * official archive. Each attempt that fails is told in the final error.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { librariesOf } from "./cuda/libraries.mjs";
import { SetupError, say } from "./report.mjs";
import { cudaOf, refusal, supported } from "./torch-folder.mjs";
import { unzip } from "./unzip.mjs";
import { compareVersions } from "./versions.mjs";

const run = promisify(execFile);

/** The libtorch that is downloaded when none is found. */
const PINNED_VERSION = "2.13.0";

/** The folder of everything that the set-up fetches; shared by all checkouts of one user. */
export function cacheRoot(env = process.env) {
  return env.SEEKRL_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), ".cache"), "seekrl");
}

/** The CUDA builds in the cache, the newest first: `libtorch-2.13.0-cu130/torch`, the nvidia libraries beside it. */
export async function cachedCuda(env = process.env) {
  const names = await readdir(cacheRoot(env)).catch(() => []);
  return names
    .map((name) => /^libtorch-([\d.]+)-cu(\d+)$/.exec(name))
    .filter((match) => match !== null)
    .sort((a, b) => compareVersions(b[1], a[1]) || Number(b[2]) - Number(a[2]))
    .map(([name]) => join(cacheRoot(env), name, "torch"));
}

/**
 * Python's torch. The Python is that of `python3`: of an environment that is active, else the system's.
 *
 * @returns `folder`, undefined where it has none; `python`, its program, undefined where there is no Python
 */
export async function pythonTorch(env = process.env) {
  const find =
    "import importlib.util as u, sys; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else ''); print(sys.executable)";
  const found = await run("python3", ["-c", find], { env }).catch(() => undefined);
  const [folder, python] = (found?.stdout ?? "").split("\n");
  return { folder: folder || undefined, python: python || undefined };
}

/** Python's torch where it has CUDA and the machine a driver, which the user then means to use. */
async function pythonCudaFolder(env) {
  const hasDriver =
    existsSync("/proc/driver/nvidia/version") ||
    (await run("nvidia-smi", ["-L"], { env, timeout: 30_000 }).catch(() => undefined));
  const folder = hasDriver ? (await pythonTorch(env)).folder : undefined;
  return folder !== undefined && (await cudaOf(folder)) !== undefined ? folder : undefined;
}

/** Moves an unpacked folder into the cache whole or not at all. */
export async function adopt(unpacked, folder) {
  try {
    await rename(unpacked, folder);
  } catch (error) {
    if (!existsSync(folder)) throw error; // another set-up got there first
  }
  return folder;
}

/** Puts a wheel's licences into its folder of libtorch: who passes that on passes them on. */
async function keepLicences(unpacked, inside) {
  const about = (await readdir(unpacked)).find((name) => name.endsWith(".dist-info")) ?? "";
  const licences = join(unpacked, about, "licenses");
  if (about !== "" && existsSync(licences)) await rename(licences, join(unpacked, inside, "licenses"));
}

/** Downloads a zip file into a folder of its own, unpacks it there and adopts its folder `inside`. */
async function fetchInto(env, inside, download) {
  await mkdir(cacheRoot(env), { recursive: true });
  const work = await mkdtemp(join(cacheRoot(env), "download-"));
  try {
    const unpacked = join(work, "unpacked");
    await unzip(await download(work), unpacked);
    await keepLicences(unpacked, inside);
    return await adopt(join(unpacked, inside), cpuFolder(env));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const cpuFolder = (env) => join(cacheRoot(env), `libtorch-${PINNED_VERSION}-cpu`);

/** What pip and curl are asked for. macOS has one build, for the CPU. */
export function downloads(platform = process.platform) {
  const archives = "https://download.pytorch.org/libtorch/cpu";
  if (platform === "darwin")
    return {
      wheel: `torch==${PINNED_VERSION}`,
      archive: `${archives}/libtorch-macos-arm64-${PINNED_VERSION}.zip`,
    };
  return {
    // Without `+cpu` an index may answer with a CUDA build, several times as large.
    wheel: `torch==${PINNED_VERSION}+cpu`,
    archive: `${archives}/libtorch-shared-with-deps-${PINNED_VERSION}%2Bcpu.zip`,
  };
}

function fromPip(env) {
  return fetchInto(env, "torch", async (work) => {
    const wanted = downloads().wheel;
    say(`downloading ${wanted} with pip (about 190 MB, less on macOS)`);
    const pip = ["-m", "pip", "--disable-pip-version-check", "download", "--retries", "0"];
    await run("python3", [...pip, "--no-deps", "--only-binary=:all:", "-d", work, wanted], { env });
    return join(
      work,
      (await readdir(work)).find((name) => name.endsWith(".whl")),
    );
  });
}

function fromArchive(env) {
  return fetchInto(env, "libtorch", async (work) => {
    const zip = join(work, "libtorch.zip");
    await run("curl", ["-fsSL", "-o", zip, downloads().archive], { env });
    return zip;
  });
}

async function places(env) {
  const cuda = (await cachedCuda(env)).map((folder) => [`cache ${folder}`, () => folder]);
  return [
    ...cuda,
    ["Python's installed torch with CUDA", () => pythonCudaFolder(env)],
    [`cache ${cpuFolder(env)}`, () => cpuFolder(env)],
    ["Python's installed torch", async () => (await pythonTorch(env)).folder],
    [`pip download ${downloads().wheel}`, () => fromPip(env)],
    ["the official archive", () => fromArchive(env)],
  ];
}

/** Has packaged addons use a libtorch from here on (lib/base/packages/libtorch-folder.ts). */
export async function chooseLibtorch(folder, env = process.env) {
  const { needed } = librariesOf(folder, { env });
  await mkdir(cacheRoot(env), { recursive: true });
  const file = join(cacheRoot(env), "libtorch.json");
  await writeFile(`${file}.part`, `${JSON.stringify({ folder, needed }, null, 2)}\n`);
  await rename(`${file}.part`, file);
}

/** Returns the folder of a usable libtorch. Throws a SetupError that lists every place tried. */
export async function findLibtorch(env = process.env) {
  if (env.SEEKRL_LIBTORCH) {
    const folder = resolve(env.SEEKRL_LIBTORCH);
    const reason = await refusal(folder, { env });
    if (reason === undefined) return folder;
    throw new SetupError(
      `SEEKRL_LIBTORCH: ${folder}: ${reason}. ` +
        `Remedy: point it at a libtorch ${supported}, the folder that holds include and lib, or unset it.`,
    );
  }
  const tried = [];
  for (const [name, look] of await places(env)) {
    try {
      const folder = await look();
      const reason = folder === undefined ? "not installed" : await refusal(folder, { env });
      if (reason === undefined) return folder;
      // A GPU that was asked for is not given up in silence.
      if (folder !== undefined && existsSync(join(folder, "lib", "libtorch_cuda.so")))
        say(`passed over the CUDA build in ${folder}: ${reason}`);
      tried.push(`${name}: ${reason}`);
    } catch (error) {
      tried.push(
        `${name}: ${String(error.stderr || error.message)
          .trim()
          .split("\n")
          .at(-1)}`,
      );
    }
  }
  throw new SetupError(
    `libtorch was not found. Tried:\n  ${tried.join("\n  ")}\n` +
      `Remedy: download libtorch ${PINNED_VERSION} (or \`pip install torch==${PINNED_VERSION}\`) and set SEEKRL_LIBTORCH to its folder.`,
  );
}

/**
 * Finds libtorch, or fetches the pinned one into the user's cache.
 *
 * Order: SEEKRL_LIBTORCH, the npm runtime package, the cache, an installed Python torch, `pip download`,
 * the official archive. Each attempt that fails is told in the final error.
 */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { SetupError, say } from "./report.mjs";

const run = promisify(execFile);

/** The libtorch that is downloaded when none is found. */
const PINNED_VERSION = "2.13.0";
/** Oldest and newest minor versions whose C++ interface this source compiles against. */
const SUPPORTED = { oldest: [2, 11], newest: [2, 13] };
const supported = `${SUPPORTED.oldest.join(".")} to ${SUPPORTED.newest.join(".")}`;

const cacheRoot =
  process.env.SEEKRL_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "seekrl");

/** Where the pinned CPU build is unpacked; shared by all checkouts of one user. */
const cacheFolder = join(cacheRoot, `libtorch-${PINNED_VERSION}-cpu`);

/** Major and minor version that a libtorch folder's headers state; `undefined` when none does. */
async function versionOf(folder) {
  for (const place of ["torch/headeronly/version.h", "torch/version.h"]) {
    const header = await readFile(join(folder, "include", place), "utf8").catch(() => "");
    const part = (name) => new RegExp(`#define TORCH_VERSION_${name} (\\d+)`).exec(header)?.[1];
    const version = [part("MAJOR"), part("MINOR")];
    if (!version.includes(undefined)) return version.map(Number);
  }
  return undefined;
}

/** `undefined` when the folder is usable, else the reason why not. */
async function refusal(folder) {
  if (!existsSync(join(folder, "lib", "libtorch_cpu.so"))) return "no lib/libtorch_cpu.so";
  if (!existsSync(join(folder, "include", "ATen", "ATen.h"))) return "no include/ATen/ATen.h";
  const version = await versionOf(folder);
  if (version === undefined) return "no version in include/torch/version.h";
  const [number, low, high] = [version, SUPPORTED.oldest, SUPPORTED.newest].map(([a, b]) => a * 1000 + b);
  if (number < low || number > high) return `version ${version.join(".")}, expected ${supported}`;
  return undefined;
}

function runtimePackageFolder() {
  try {
    const require = createRequire(import.meta.url);
    return join(require.resolve("@seekrl/libtorch-cpu/package.json"), "..");
  } catch {
    return undefined;
  }
}

async function pythonTorchFolder() {
  const find =
    "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')";
  const { stdout } = await run("python3", ["-c", find]);
  return stdout.trim() || undefined;
}

/** Moves the unpacked `torch` folder into the cache whole or not at all. */
async function adopt(unpacked) {
  await mkdir(cacheRoot, { recursive: true });
  try {
    await rename(unpacked, cacheFolder);
  } catch (error) {
    if (!existsSync(cacheFolder)) throw error; // another set-up got there first
  }
  return cacheFolder;
}

/** Downloads a zip file into a folder of its own, unpacks it there and adopts its folder `inside`. */
async function fetchInto(inside, download) {
  await mkdir(cacheRoot, { recursive: true });
  const work = await mkdtemp(join(cacheRoot, "download-"));
  try {
    const zip = await download(work);
    await run("python3", ["-m", "zipfile", "-e", zip, join(work, "unpacked")]);
    return await adopt(join(work, "unpacked", inside));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

function fromPip() {
  return fetchInto("torch", async (work) => {
    say(`downloading torch==${PINNED_VERSION} with pip (about 190 MB)`);
    const pip = ["-m", "pip", "--disable-pip-version-check", "download", "--retries", "0"];
    const what = ["--no-deps", "--only-binary=:all:", "-d", work, `torch==${PINNED_VERSION}`];
    await run("python3", [...pip, ...what]);
    return join(
      work,
      (await readdir(work)).find((name) => name.endsWith(".whl")),
    );
  });
}

function fromArchive() {
  return fetchInto("libtorch", async (work) => {
    const name = `libtorch-shared-with-deps-${PINNED_VERSION}%2Bcpu.zip`;
    const zip = join(work, "libtorch.zip");
    await run("curl", ["-fsSL", "-o", zip, `https://download.pytorch.org/libtorch/cpu/${name}`]);
    return zip;
  });
}

/** Returns the folder of a usable libtorch. Throws a SetupError that lists every place tried. */
export async function findLibtorch() {
  if (process.env.SEEKRL_LIBTORCH !== undefined) {
    const folder = resolve(process.env.SEEKRL_LIBTORCH);
    const reason = await refusal(folder);
    if (reason === undefined) return folder;
    throw new SetupError(
      `SEEKRL_LIBTORCH: ${folder}: ${reason}. ` +
        `Remedy: point it at a libtorch ${supported}, the folder that holds include and lib, or unset it.`,
    );
  }
  const places = [
    ["npm package @seekrl/libtorch-cpu", runtimePackageFolder],
    [`cache ${cacheFolder}`, () => cacheFolder],
    ["Python's installed torch", pythonTorchFolder],
    [`pip download torch==${PINNED_VERSION}`, fromPip],
    ["the official archive", fromArchive],
  ];
  const tried = [];
  for (const [name, look] of places) {
    try {
      const folder = await look();
      const reason = folder === undefined ? "not installed" : await refusal(folder);
      if (reason === undefined) return folder;
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

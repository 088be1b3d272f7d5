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
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { SetupError, say } from "./report.mjs";

const run = promisify(execFile);

/** The libtorch that is downloaded when none is found. */
export const PINNED_VERSION = "2.13.0";
/** Oldest and newest minor versions whose C++ interface this source compiles against. */
const SUPPORTED = { oldest: [2, 11], newest: [2, 13] };

const cacheRoot =
  process.env.SEEKRL_CACHE ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), ".cache"), "seekrl");

/** Where the pinned CPU build is unpacked; shared by all checkouts of one user. */
export const cacheFolder = join(cacheRoot, `libtorch-${PINNED_VERSION}-cpu`);

/** The version a libtorch folder says it is, from its headers. */
async function versionOf(folder) {
  const header = await readFile(join(folder, "include", "torch", "headeronly", "version.h"), "utf8").catch(
    () => readFile(join(folder, "include", "torch", "version.h"), "utf8"),
  );
  const part = (name) => Number(new RegExp(`#define TORCH_VERSION_${name} (\\d+)`).exec(header)?.[1]);
  return [part("MAJOR"), part("MINOR"), part("PATCH")];
}

/** `undefined` when the folder is usable, else the reason why not. */
async function refusal(folder) {
  if (!existsSync(join(folder, "lib", "libtorch_cpu.so"))) return "no lib/libtorch_cpu.so";
  if (!existsSync(join(folder, "include", "ATen", "ATen.h"))) return "no include/ATen/ATen.h";
  const [major, minor] = await versionOf(folder);
  const number = major * 1000 + minor;
  const [low, high] = [SUPPORTED.oldest, SUPPORTED.newest].map(([a, b]) => a * 1000 + b);
  if (number < low || number > high) {
    return `version ${major}.${minor}, expected ${SUPPORTED.oldest.join(".")} to ${SUPPORTED.newest.join(".")}`;
  }
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

async function fromPip() {
  await mkdir(cacheRoot, { recursive: true });
  const work = await mkdtemp(join(cacheRoot, "download-"));
  try {
    say(`downloading torch==${PINNED_VERSION} with pip (about 190 MB)`);
    const pip = ["-m", "pip", "--disable-pip-version-check", "download", "--retries", "0"];
    await run("python3", [
      ...pip,
      "--no-deps",
      "--only-binary=:all:",
      "-d",
      work,
      `torch==${PINNED_VERSION}`,
    ]);
    const wheel = (await readdir(work)).find((name) => name.endsWith(".whl"));
    await run("python3", ["-m", "zipfile", "-e", join(work, wheel), join(work, "unpacked")]);
    return await adopt(join(work, "unpacked", "torch"));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

async function fromArchive() {
  await mkdir(cacheRoot, { recursive: true });
  const work = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    const name = `libtorch-shared-with-deps-${PINNED_VERSION}%2Bcpu.zip`;
    const zip = join(work, "libtorch.zip");
    await run("curl", ["-fsSL", "-o", zip, `https://download.pytorch.org/libtorch/cpu/${name}`]);
    await run("python3", ["-m", "zipfile", "-e", zip, join(cacheRoot, "unpacking")]);
    return await adopt(join(cacheRoot, "unpacking", "libtorch"));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Returns the folder of a usable libtorch. Throws a SetupError that lists every place tried. */
export async function findLibtorch() {
  if (process.env.SEEKRL_LIBTORCH !== undefined) {
    const folder = resolve(process.env.SEEKRL_LIBTORCH);
    const reason = await refusal(folder);
    if (reason === undefined) return folder;
    throw new SetupError(
      `SEEKRL_LIBTORCH: ${folder}: ${reason}. Point it at a libtorch folder, or unset it.`,
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

/** Configures and builds the addons with cmake-js; what it prints is kept for the errors of a build that fails. */
import { spawn } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import { buildJobs, errorLines } from "./build.mjs";
import { findDriver, architecturesFor } from "./cuda/driver.mjs";
import { findNvcc } from "./cuda/nvcc.mjs";
import { SetupError, say } from "./report.mjs";
import { cudaOf } from "./torch-folder.mjs";

const require = createRequire(import.meta.url);

function findProgram(names) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.find((name) => folders.some((folder) => existsSync(join(folder, name))));
}

/** @throws SetupError naming what is missing to build with, and how to install it */
export function requireTools() {
  const compiler = process.env.CXX ?? findProgram(["g++", "clang++", "c++"]);
  if (compiler === undefined) {
    throw new SetupError(
      "no C++ compiler was found. Remedy: install g++ 12 or later (Debian: apt-get install g++).",
    );
  }
  if (findProgram(["cmake"]) === undefined) {
    throw new SetupError(
      "cmake was not found. Remedy: install CMake 3.22 or later (Debian: apt-get install cmake).",
    );
  }
  if (findProgram(["ninja", "make"]) === undefined) {
    throw new SetupError(
      "neither ninja nor make was found. Remedy: install one (Debian: apt-get install ninja-build).",
    );
  }
}

/** A dependency's folder, wherever the package manager put it; `exports` may hide its package.json. */
function packageFolder(name) {
  const folder = require.resolve
    .paths(name)
    .map((base) => join(base, name))
    .find((path) => existsSync(path));
  if (folder === undefined) throw new SetupError(`the package ${name} is missing. Remedy: npm install.`);
  return folder;
}

/** Without a GPU: the least that has kernels, which later GPUs run too, compiled at first use. */
async function architectures(nvcc) {
  const { gpus } = await findDriver();
  return architecturesFor(gpus, nvcc?.known ?? []).join(";") || "80";
}

/** The kernels for CUDA take minutes: they are compiled for a libtorch that can use them, or where they are asked for. */
async function cudaDefinitions(libtorch, { withTests, cached }) {
  const asked = process.env.SEEKRL_CUDA_ARCHITECTURES || undefined;
  const isNew = withTests || asked !== undefined || (await cudaOf(libtorch)) !== undefined;
  const isWanted = isNew || cached.SEEKRL_CUDA === "ON";
  const kept = isNew ? undefined : cached.SEEKRL_CUDA_ARCHITECTURES;
  if (!isWanted) return { SEEKRL_CUDA: "OFF", SEEKRL_CUDA_ARCHITECTURES: "80" };
  const nvcc = await findNvcc();
  return {
    SEEKRL_CUDA: "ON",
    SEEKRL_CUDA_ARCHITECTURES: asked ?? kept ?? (await architectures(nvcc)),
    // The one that the set-up has held against the driver.
    SEEKRL_NVCC: nvcc?.path ?? "SEEKRL_NVCC-NOTFOUND",
  };
}

/**
 * Why there are no kernels for CUDA where they are wanted; a build for the processor alone is done all the same.
 *
 * @param folder - of the build
 * @param definitions - it was configured with
 * @returns undefined where they are there, or are not wanted
 */
export function kernelsProblem(folder, { SEEKRL_CUDA: wanted, SEEKRL_NVCC: nvcc }) {
  if (wanted !== "ON" || existsSync(join(folder, "Release", "libseekrl_cuda.so"))) return undefined;
  if (!existsSync(complaintIn(folder))) return "no nvcc was found";
  return `${nvcc} does not compile C++20 here:\n${readFileSync(complaintIn(folder), "utf8").trim()}`;
}

/** What nvcc said when it was tried; there where it failed. */
const complaintIn = (folder) => join(folder, "cuda", "complaint.txt");

/**
 * Builds what has changed.
 *
 * @param root - the checkout
 * @param options - `libtorch`: its folder; `withTests`: the native test programs and the emulated GPU too; `progress`
 */
export async function buildNative(root, { libtorch, withTests, progress }) {
  const folder = join(root, "build", "cmake");
  // What was configured for tests or CUDA stays so: CMake forgets what it has compiled of targets that are gone.
  const cached = cachedDefinitions(folder);
  const definitions = {
    SEEKRL_LIBTORCH: libtorch,
    SEEKRL_USEARCH: packageFolder("usearch"),
    SEEKRL_NODE_ADDON_API: packageFolder("node-addon-api"),
    SEEKRL_WERROR: process.env.SEEKRL_WERROR || "OFF",
    SEEKRL_UNITS: process.env.SEEKRL_UNITS || "ON",
    SEEKRL_TESTS: withTests || cached.SEEKRL_TESTS === "ON" ? "ON" : "OFF",
    ...(await cudaDefinitions(libtorch, { withTests, cached })),
  };
  if (definitions.SEEKRL_CUDA === "ON" || definitions.SEEKRL_UNITS === "OFF") progress.countOnly();
  const options = ["--out", "build/cmake", "--parallel", buildJobs()];
  for (const [name, value] of Object.entries(definitions)) options.push(`--CD${name}=${value}`);
  // `build` configures what was never configured, and no more. What nvcc failed at may have been mended since.
  const isLacking = definitions.SEEKRL_CUDA === "ON" && existsSync(complaintIn(folder));
  if (isLacking || isConfiguredDifferently(folder, definitions))
    await cmakeJs(root, "configure", options, progress);
  const target = withTests ? [] : ["--target", "seekrl_addons"];
  await cmakeJs(root, "build", [...options, ...target], progress);
  const problem = kernelsProblem(folder, definitions);
  if (problem !== undefined) say(`the kernels for CUDA are left out: ${problem}`);
}

/** What CMake was told, by name; nothing where it was not yet, or could not finish. */
function cachedDefinitions(folder) {
  const isWhole = ["build.ninja", "Makefile"].some((name) => existsSync(join(folder, name)));
  const cache = join(folder, "CMakeCache.txt");
  if (!isWhole || !existsSync(cache)) return {};
  const lines = readFileSync(cache, "utf8").matchAll(/^(\w+):\w+=(.*)$/gm);
  return Object.fromEntries(Array.from(lines, ([, name, value]) => [name, value]));
}

/** Whether a build folder is there that was configured with other definitions, or whose configuring failed. */
export function isConfiguredDifferently(folder, definitions) {
  if (!existsSync(join(folder, "CMakeCache.txt"))) return false;
  const cached = cachedDefinitions(folder);
  return Object.entries(definitions).some(([name, value]) => cached[name] !== value);
}

function cmakeJs(root, action, options, progress) {
  const script = join(packageFolder("cmake-js"), "bin", "cmake-js");
  const child = spawn(process.execPath, [script, action, ...options], { cwd: root });
  const output = [];
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  child.stdout.on("data", (chunk) => progress.feed(String(chunk)));
  return new Promise((done, fail) => {
    child.on("error", fail);
    child.on("close", (code) => {
      if (code === 0) return done();
      const shown = errorLines(Buffer.concat(output).toString(), 20);
      fail(new SetupError(`the native build failed (cmake-js exited with ${code}):\n${shown}`));
    });
  });
}

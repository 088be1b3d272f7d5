/**
 * What `npm install` runs in a checkout: finds libtorch and builds the addons with cmake-js.
 *
 * SEEKRL_LIBTORCH names a libtorch folder to build against; SEEKRL_BUILD_JOBS bounds the compilers at work at once;
 * SEEKRL_WERROR=ON makes warnings errors, as in the checks of every change; SEEKRL_CUDA_ARCHITECTURES ("80;90", "all") names the
 * compute capabilities that kernels for CUDA are compiled for, where nvcc is found: those of this machine's cards unless given.
 */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { delimiter, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildJobs, errorLines, libtorchFile } from "./build.mjs";
import { BuildProgress } from "./build-progress.mjs";
import { architecturesFor, findDriver } from "./cuda/driver.mjs";
import { librariesOf } from "./cuda/libraries.mjs";
import { findNvcc } from "./cuda/nvcc.mjs";
import { findLibtorch } from "./libtorch.mjs";
import { isNpx } from "./npx.mjs";
import { runMain, SetupError, say, step } from "./report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const require = createRequire(import.meta.url);

function findProgram(names) {
  const folders = (process.env.PATH ?? "").split(delimiter);
  return names.find((name) => folders.some((folder) => existsSync(join(folder, name))));
}

function requireTools() {
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

/** Runs cmake-js; of its output progress is shown, and the errors when it fails. */
function cmakeJs(options) {
  const script = join(packageFolder("cmake-js"), "bin", "cmake-js");
  const child = spawn(process.execPath, [script, "build", ...options], { cwd: root });
  const output = [];
  const progress = new BuildProgress();
  const timer = setInterval(() => progress.tick(), 1000);
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk) => output.push(chunk));
  child.stdout.on("data", (chunk) => progress.feed(chunk));
  return new Promise((done, fail) => {
    child.on("error", (error) => {
      clearInterval(timer);
      fail(error);
    });
    child.on("close", (code) => {
      clearInterval(timer);
      progress.end();
      if (code === 0) return done();
      const shown = errorLines(Buffer.concat(output).toString(), 20);
      fail(new SetupError(`the native build failed (cmake-js exited with ${code}):\n${shown}`));
    });
  });
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

/** Without a card: the least that has kernels, which later cards run too, compiled at first use. */
async function architectures() {
  const { cards } = await findDriver();
  const known = cards.length === 0 ? [] : ((await findNvcc())?.known ?? []);
  return architecturesFor(cards, known).join(";") || "80";
}

/** Said once in a clone. */
const firstWords =
  "setting up, once: libtorch, then some 400 C++ files, then the TypeScript; on two cores about 12 minutes in all";

async function main() {
  requireTools(); // before libtorch, which may be a long download
  if (!existsSync(libtorchFile(root))) say(firstWords);
  const libtorch = await step("found libtorch", findLibtorch, {
    doing: "looking for libtorch, or fetching it",
  });
  say(`libtorch: ${libtorch}`);
  const definitions = {
    SEEKRL_LIBTORCH: libtorch,
    SEEKRL_USEARCH: packageFolder("usearch"),
    SEEKRL_NODE_ADDON_API: packageFolder("node-addon-api"),
    SEEKRL_WERROR: process.env.SEEKRL_WERROR ?? "OFF",
    SEEKRL_CUDA_ARCHITECTURES: process.env.SEEKRL_CUDA_ARCHITECTURES ?? (await architectures()),
  };
  const options = ["--out", "build/cmake", "--parallel", buildJobs()];
  for (const [name, value] of Object.entries(definitions)) options.push(`--CD${name}=${value}`);
  await step("built the native addons", () => cmakeJs(options));
  const where = libtorchFile(root);
  const { needed } = librariesOf(libtorch);
  const text = `${JSON.stringify({ folder: libtorch, needed }, null, 2)}\n`;
  if ((await readFile(where, "utf8").catch(() => "")) !== text) await writeFile(where, text);
}

if (!isNpx()) await runMain(() => step("set-up finished", main));

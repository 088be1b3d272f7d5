/**
 * What `npm install` runs in a checkout, and every command before it: finds libtorch, builds the addons with cmake-js, and
 * compiles the TypeScript meanwhile; what is as it was is left.
 *
 * `--native` leaves the TypeScript as it is; `--tests` builds the native test programs and the emulated GPU as well. SEEKRL_LIBTORCH names a libtorch folder to build
 * against; SEEKRL_BUILD_JOBS bounds the compilers at work at once; SEEKRL_WERROR=ON makes warnings errors, as in the checks
 * of every change; SEEKRL_UNITS=OFF compiles each file alone; SEEKRL_CUDA_ARCHITECTURES ("80;90", "all") has the kernels for
 * CUDA compiled, for these compute capabilities: else a CUDA build of libtorch does, for those of this machine's GPUs.
 */
import { existsSync } from "node:fs";
import { utimes, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildJobs, libtorchFile } from "./build.mjs";
import { librariesOf } from "./cuda/libraries.mjs";
import { sourcesDigest } from "./digest.mjs";
import { findLibtorch } from "./libtorch.mjs";
import { buildNative, requireTools } from "./native.mjs";
import { isNpx } from "./npx.mjs";
import { Progress } from "./progress.mjs";
import { runMain, say, step } from "./report.mjs";
import { compileTypeScript } from "./typescript.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const withTests = process.argv.includes("--tests");
const isNativeOnly = process.argv.includes("--native");

async function setUpNative(progress) {
  const libtorch = await findLibtorch();
  say(`libtorch: ${libtorch}`);
  progress.finish("libtorch");
  // What changes while it builds is not known to be in it.
  const [begun, sources] = [new Date(), await sourcesDigest(root)];
  await step("built the native addons", () => buildNative(root, { libtorch, withTests, progress }));
  const { needed } = librariesOf(libtorch);
  const text = `${JSON.stringify({ folder: libtorch, needed, sources }, null, 2)}\n`;
  const where = libtorchFile(root);
  await writeFile(where, text);
  await utimes(where, begun, begun);
}

async function main() {
  requireTools(); // before libtorch, which may be a long download
  // How long the tests' programs take is not known.
  const isFirst = !existsSync(join(root, "build", "cmake")) && !withTests;
  const progress = new Progress({ isFirst, jobs: Number(buildJobs()) });
  const timer = setInterval(() => progress.tick(), 1000);
  const parts = [setUpNative(progress)];
  if (!isNativeOnly) parts.push(compileTypeScript(root, (part) => progress.finish(part)));
  // Both end before this does: an error of one is told when the other is done.
  const ended = await Promise.allSettled(parts);
  clearInterval(timer);
  progress.end();
  for (const { reason } of ended) if (reason !== undefined) throw reason;
}

if (!isNpx()) await runMain(() => step("set-up finished", main));

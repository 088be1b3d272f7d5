/** Brings what is built up to date before it is packed, so that nothing is packed that is older than its sources. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { buildJobs, errorLines } from "../setup/build.mjs";
import { SetupError } from "../setup/report.mjs";

const run = promisify(execFile);

/** CMake's target of a file: `seekrl_cuda` of `libseekrl_cuda.so`. */
const targetOf = (file) => file.replace(/^lib/, "").replace(/\.\w+$/, "");

/**
 * Builds what has changed since `npm run build`, with the settings of that build; nothing where all is as it was.
 *
 * The build tool alone knows what a file was made of, and cannot say so without doing it: its dry run stops where CMake
 * would look for added files.
 *
 * @param root - the checkout
 * @param files - of the build that are packed
 * @throws where it was never built, or its sources do not compile
 */
export async function bringUpToDate(root, files) {
  const folder = join(root, "build", "cmake");
  if (!existsSync(join(folder, "CMakeCache.txt")))
    throw new SetupError(`${folder}: nothing is built there. Remedy: npm run build.`);
  const targets = ["--target", ...files.map(targetOf)];
  try {
    await run("cmake", ["--build", folder, "--config", "Release", "--parallel", buildJobs(), ...targets], {
      maxBuffer: 1 << 28,
    });
  } catch (error) {
    const shown = errorLines(`${error.stdout ?? ""}${error.stderr || error.message}`, 5);
    throw new SetupError(
      `the addons are older than their sources, which do not build:\n${shown}\nRemedy: npm run build.`,
    );
  }
}

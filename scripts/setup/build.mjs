/** What a checkout is built with, and what is shown of a build that fails. */
import { readFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import process from "node:process";

/** How many compilers may be at work at once, as an argument of the build tool. */
export const buildJobs = () => process.env.SEEKRL_BUILD_JOBS || String(availableParallelism());

/** Where a build says which libtorch it is for; lib/base/packages/find-addon.ts reads it. */
export const libtorchFile = (root) => join(root, "build", "libtorch.json");

/** The folder of the libtorch that a checkout was built with. */
export const builtLibtorch = (root) => JSON.parse(readFileSync(libtorchFile(root), "utf8")).folder;

/** Of what a build printed, the first lines that tell of errors, or its last lines where none does. */
export function errorLines(text, most) {
  const lines = text.trim().split("\n");
  const errors = lines.filter((line) => /error/i.test(line)).slice(0, most);
  return (errors.length > 0 ? errors : lines.slice(-most)).join("\n");
}

/** Copies a file of machine code without the symbols that only a debugger reads. */
import { execFile } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { promisify } from "node:util";

const run = promisify(execFile);

export async function copyStripped(from, to) {
  await copyFile(from, to);
  await run("strip", ["--strip-unneeded", to]);
}

/** Copies a file of machine code without the symbols that only a debugger reads. */
import { execFile } from "node:child_process";
import { copyFile } from "node:fs/promises";
import { promisify } from "node:util";
import { isMacos } from "./platforms.mjs";

const run = promisify(execFile);

/** Copies it with the tools of a row of platforms.mjs; `call(name, words)` runs them. */
export async function copyStripped(from, to, platform, call = run) {
  await copyFile(from, to);
  if (!isMacos(platform)) return void (await call("strip", ["--strip-unneeded", to]));
  await call("strip", ["-x", to]);
  // Apple's processors run nothing whose signature is not that of its bytes; this one names nobody.
  await call("codesign", ["--force", "--sign", "-", to]);
}

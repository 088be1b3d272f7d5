#!/usr/bin/env node
/** The command line's door: makes sure that the package is built, then hands over to apps/cli/main. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const entry = join(root, "dist", "apps", "cli", "main.js");
const addon = join(root, "build", "cmake", "Release", "seekrl.node");
const libtorch = join(root, "build", "libtorch.json");
// A clone has sources, and what sets it up; an installed package is whole, or its loader says what it lacks.
const ensure = join(root, "scripts", "ensure.mjs");

/** Sets up what is missing. Its output goes to standard error: standard output belongs to the command. */
function setUp() {
  const args = [ensure, process.execPath, "--version"];
  const { status } = spawnSync(process.execPath, args, { cwd: root, stdio: ["inherit", 2, 2] });
  if (status !== 0) process.exit(1);
}

// What sets up, and what says why that failed, runs without the addon.
const needed = ["setup", "doctor"].includes(process.argv[2]) ? [entry] : [entry, addon, libtorch];
const missing = existsSync(ensure) ? needed.find((path) => !existsSync(path)) : undefined;
if (missing !== undefined) {
  process.stderr.write(`seekrl: ${missing} is missing; setting up\n`);
  setUp();
}
const { main } = await import(new URL("../dist/apps/cli/main.js", import.meta.url).href);
const abort = new AbortController();
// The second Ctrl-C meets no listener and ends the process at once.
process.once("SIGINT", () => abort.abort(new Error("interrupted")));
process.once("SIGTERM", () => abort.abort(new Error("terminated")));
// A terminal that is closed: what is under way is kept, as on Ctrl-C.
process.once("SIGHUP", () => abort.abort(new Error("hung up")));
// A launch that was killed: its processes end as on SIGTERM. The channel to it keeps none of them running.
process.once("disconnect", () => abort.abort(new Error("the launch ended")));
process.channel?.unref();
// A reader that has seen enough, as `head` does, ends the command too.
process.stdout.on("error", (error) => {
  if (error.code !== "EPIPE") throw error;
  abort.abort(error);
});
process.exitCode = await main(process.argv.slice(2), { signal: abort.signal });

/**
 * Runs one benchmark after building what has changed, `npm run bench -- train/sft --threads 2`; without a name, lists them.
 * `npm run bench -- --peers` sets peers up and compares all that have one.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ensureBuilt } from "./ensure.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const [name, ...args] = process.argv.slice(2);

function runOne() {
  const names = readdirSync(join(root, "bench"), { recursive: true })
    .filter((file) => file.endsWith(".ts"))
    .map((file) => file.slice(0, -".ts".length));
  if (!names.includes(name)) {
    process.stderr.write(
      `benchmarks: ${names.sort().join(", ")}\n--peers compares those that have peers with them\n`,
    );
    return [undefined, "--help", "-h"].includes(name) ? 0 : 2;
  }
  ensureBuilt();
  const program = join(root, "dist", "bench", `${name}.js`);
  const { status } = spawnSync(process.execPath, [program, ...args], { stdio: "inherit" });
  return status ?? 1;
}

async function runPeers() {
  const { runFromCommandLine } = await import("./bench/peers.mjs");
  return runFromCommandLine(process.argv.slice(2), ensureBuilt);
}

process.exitCode = process.argv.includes("--peers") ? await runPeers() : runOne();

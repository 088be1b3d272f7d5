/**
 * Runs one benchmark, `npm run bench -- train/sft --threads 2`; without a name, lists them. `npm run bench -- --peers` sets
 * peers up and compares all that have one.
 */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "dist", "bench");
const [name, ...args] = process.argv.slice(2);

function runOne() {
  const names = readdirSync(folder, { recursive: true })
    .filter((file) => file.endsWith(".js"))
    .map((file) => file.slice(0, -".js".length));
  if (name === undefined || !names.includes(name)) {
    process.stderr.write(
      `benchmarks: ${names.join(", ")}\n--peers compares those that have peers with them\n`,
    );
    return name === undefined ? 0 : 2;
  }
  const { status } = spawnSync(process.execPath, [join(folder, `${name}.js`), ...args], { stdio: "inherit" });
  return status ?? 1;
}

async function runPeers() {
  const { runFromCommandLine } = await import("./bench/peers.mjs");
  return runFromCommandLine(process.argv.slice(2));
}

process.exitCode = process.argv.includes("--peers") ? await runPeers() : runOne();

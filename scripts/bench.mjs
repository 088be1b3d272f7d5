/** Runs one benchmark, `npm run bench -- train/sft --threads 2`; without a name, lists them. */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..", "dist", "bench");
const names = readdirSync(folder, { recursive: true })
  .filter((file) => file.endsWith(".js"))
  .map((file) => file.slice(0, -".js".length));
const [name, ...args] = process.argv.slice(2);
if (name === undefined || !names.includes(name)) {
  process.stderr.write(`benchmarks: ${names.join(", ")}\n`);
  process.exit(name === undefined ? 0 : 2);
}
const { status } = spawnSync(process.execPath, [join(folder, `${name}.js`), ...args], { stdio: "inherit" });
process.exit(status ?? 1);

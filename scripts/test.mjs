/** Runs the compiled tests: all of them, or those whose path contains an argument (`npm test -- engine`). */
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");
const wanted = process.argv.slice(2);
// By the sources: what an earlier build compiled may have moved since.
const files = readdirSync(join(root, "test"), { recursive: true })
  .filter((file) => file.endsWith(".test.ts"))
  .map((file) => file.replace(/ts$/, "js"))
  .filter((file) => wanted.length === 0 || wanted.some((part) => file.includes(part)))
  .map((file) => join(root, "dist", "test", file));
if (files.length === 0) {
  process.stderr.write(`no test file matches ${wanted.join(" ")}\n`);
  process.exit(2);
}
// This reporter names the failures once more at the end, where they are found.
const options = ["--test", "--test-concurrency=2", "--test-reporter=spec"];
const { status } = spawnSync(process.execPath, [...options, ...files], { cwd: root, stdio: "inherit" });
process.exit(status ?? 1);

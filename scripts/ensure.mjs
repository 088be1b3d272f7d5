/**
 * Makes sure that the checkout is set up. `node scripts/ensure.mjs [--tests] node file.mjs ...` runs a command after that;
 * `--tests` sets up the native test programs too.
 */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function run(program, args) {
  const { status, error } = spawnSync(program, args, { cwd: root, stdio: "inherit" });
  if (error) throw error;
  if (status !== 0) process.exit(status ?? 1);
}

/** Builds what has changed; ends this process where that fails. */
export function ensureBuilt({ withTests = false } = {}) {
  if (!existsSync(join(root, "node_modules", "typescript-native"))) {
    process.stderr.write("seekrl: npm ci: packages first, then what it builds, which says how far it is\n");
    // Which sets up too (`install` in package.json).
    run("npm", ["ci", "--no-audit", "--no-fund"]);
    if (!withTests) return;
  }
  run("npm", ["run", "--silent", "build", ...(withTests ? ["--", "--tests"] : [])]);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const given = process.argv.slice(2);
  const withTests = given[0] === "--tests";
  ensureBuilt({ withTests });
  const [program, ...args] = given.slice(withTests ? 1 : 0);
  run(program, args);
}

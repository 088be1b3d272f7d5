/** Makes sure that the checkout is set up. `node scripts/ensure.mjs node file.mjs ...` runs a command after that. */
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
export function ensureBuilt() {
  if (!existsSync(join(root, "node_modules", "typescript"))) {
    process.stderr.write("seekrl: npm ci: packages first, then what it builds, which says how far it is\n");
    // Installing runs the set-up and the TypeScript compiler too (`install` and `prepare` in package.json).
    run("npm", ["ci", "--no-audit", "--no-fund"]);
  } else {
    run("npm", ["run", "--silent", "build"]);
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  ensureBuilt();
  const [program, ...args] = process.argv.slice(2);
  run(program, args);
}

/** What npm runs as `prepare` in a clone: compiles the TypeScript and builds the studio's page. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNpx } from "./setup/npx.mjs";
import { say } from "./setup/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

function run(...args) {
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
}

function compile() {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  if (!existsSync(compiler)) {
    say("TypeScript is not installed. Remedy: npm ci");
    return 1;
  }
  return run(compiler, "-p", join(root, "tsconfig.json")) || run(join(root, "scripts", "page.mjs"));
}

if (!isNpx()) process.exitCode = compile();

/** What npm runs as `prepare` in a clone: compiles the TypeScript. */
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNpx } from "./setup/npx.mjs";
import { say } from "./setup/report.mjs";

function compile() {
  const root = join(dirname(fileURLToPath(import.meta.url)), "..");
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  if (!existsSync(compiler)) {
    say("TypeScript is not installed. Remedy: npm ci");
    return 1;
  }
  const args = [compiler, "-p", join(root, "tsconfig.json")];
  return spawnSync(process.execPath, args, { stdio: "inherit" }).status ?? 1;
}

if (!isNpx()) process.exitCode = compile();

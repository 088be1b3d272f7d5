/** What npm runs as `prepare` in a clone: compiles the TypeScript and builds the studio's page. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { isNpx } from "./setup/npx.mjs";
import { say, step } from "./setup/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

/** A program of Node's whose own output says what is wrong. */
class ProgramFailed extends Error {}

async function run(...args) {
  const [status] = await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit");
  if (status !== 0) throw new ProgramFailed();
}

async function compileAndBuildPage() {
  const compiler = join(root, "node_modules", "typescript", "bin", "tsc");
  if (!existsSync(compiler)) {
    say("TypeScript is not installed. Remedy: npm ci");
    throw new ProgramFailed();
  }
  const types = () => run(compiler, "-p", join(root, "tsconfig.json"));
  await step("compiled the TypeScript", types, { doing: "compiling the TypeScript" });
  const page = () => run(join(root, "scripts", "page.mjs"));
  await step("built the studio's page", page, { doing: "building the studio's page" });
}

try {
  if (!isNpx()) await compileAndBuildPage();
} catch (error) {
  if (!(error instanceof ProgramFailed)) throw error;
  process.exitCode = 1;
}

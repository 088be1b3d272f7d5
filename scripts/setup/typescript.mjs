/** Compiles the TypeScript and builds the studio's page, where their sources have changed. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { SetupError, step } from "./report.mjs";

async function run(failure, ...args) {
  const [status] = await once(spawn(process.execPath, args, { stdio: "inherit" }), "exit");
  // The program's own output says what is wrong.
  if (status !== 0) throw new SetupError(failure);
}

/**
 * Compiles a checkout into its `dist`.
 *
 * @param root - the checkout
 * @param finish - called with the name of each part that is done: `typescript`, `page`
 */
export async function compileTypeScript(root, finish = () => {}) {
  const compiler = join(root, "node_modules", "typescript-native", "bin", "tsc");
  if (!existsSync(compiler)) throw new SetupError("TypeScript is not installed. Remedy: npm ci.");
  const types = () =>
    run("the TypeScript does not compile: see above", compiler, "-p", join(root, "tsconfig.json"));
  await step("compiled the TypeScript", types);
  finish("typescript");
  const page = () => run("the studio's page was not built: see above", join(root, "scripts", "page.mjs"));
  await step("built the studio's page", page);
  finish("page");
}

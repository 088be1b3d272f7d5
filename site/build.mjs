/**
 * Builds the site into dist/site and checks every link of it: the project's pages, and the library's reference beside them.
 *
 * `--base /seekrl/` is where it will stand on its server, the root unless given: GitHub Pages has a folder for each project.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { readCall } from "../scripts/pack/call.mjs";
import { runMain, SetupError } from "../scripts/setup/report.mjs";
import { findFaults } from "./check.mjs";
import { root } from "./pages.mjs";

const out = join(root, "dist", "site");
// VitePress empties its folder: what is made at the same time stands elsewhere until then.
const api = join(root, "dist", "site-api");

const usage = `usage: npm run site -- [--base PATH]

Makes the documentation's site in dist/site, and checks its links.
  --base PATH   where it will stand on its server, as /seekrl/; / unless given
`;

async function run(base, ...args) {
  const env = { ...process.env, SEEKRL_SITE_BASE: base };
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ["ignore", "ignore", "inherit"] });
  const [status] = await once(child, "exit");
  if (status !== 0) throw new SetupError(`${args[0]} ended with ${status}`);
}

async function main() {
  const call = readCall(usage, { base: { type: "string", default: "/" } });
  if (call === undefined) return;
  const { base } = call.values;
  if (!/^\/(?:[\w.-]+\/)*$/.test(base))
    throw new SetupError(`--base: expected a path that begins and ends with /, as /seekrl/, got ${base}.`);
  rmSync(api, { recursive: true, force: true });
  await Promise.all([
    run(base, "node_modules/vitepress/bin/vitepress.js", "build", "site"),
    run(base, "site/api.mjs", api, base),
  ]);
  renameSync(api, join(out, "api"));
  copyFileSync(join(root, "web", "public", "icon.svg"), join(out, "icon.svg"));
  const faults = findFaults(out, base);
  for (const fault of faults) process.stderr.write(`${fault}\n`);
  if (faults.length > 0) process.exitCode = 1;
  else
    process.stdout.write(`The site is in dist/site. To read it: npx vitepress preview site --base ${base}\n`);
}

await runMain(main);

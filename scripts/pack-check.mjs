/**
 * The dry run of a release on this machine: publishes tarballs to a registry of its own and installs them as a stranger
 * would, without install scripts, compiler, CMake or Python: `node scripts/pack-check.mjs [--packed FOLDER] [--node FILE]
 * [MANAGER ...]`. Managers: npm, pnpm and yarn, all unless named; `--node` is another Node than this one for them to run.
 */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { consume } from "./pack/check/consumer.mjs";
import { managersIn } from "./pack/check/managers.mjs";
import { installTools, publish, startRegistry } from "./pack/check/registry.mjs";
import { bytesText, SetupError, say, step } from "./setup/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

async function tarballsIn(folder) {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".tgz"));
  if (names.length === 0) throw new SetupError(`${folder}: no tarball. Remedy: npm run pack.`);
  return names.map((name) => join(folder, name));
}

function chosen(all, names) {
  const unknown = names.find((name) => all[name] === undefined);
  if (unknown === undefined) return names.length === 0 ? Object.keys(all) : names;
  throw new SetupError(`${unknown}: expected ${Object.keys(all).join(", ")} or nothing.`);
}

async function main() {
  const { values, positionals } = parseArgs({
    options: { packed: { type: "string" }, node: { type: "string" } },
    allowPositionals: true,
  });
  const tarballs = await tarballsIn(resolve(values.packed ?? join(root, "build", "pack")));
  const tools = await installTools(join(root, "build", "pack-check"));
  const managers = managersIn(tools);
  const names = chosen(managers, positionals);
  // Outside of the checkout, whose node_modules would be found otherwise.
  const work = await mkdtemp(join(tmpdir(), "seekrl-pack-check-"));
  const registry = await startRegistry(join(work, "registry"), tools);
  try {
    await step("published", () => publish(registry.url, tarballs));
    const found = [];
    for (const name of names)
      found.push(
        await consume(name, managers[name], {
          folder: join(work, name),
          url: registry.url,
          node: resolve(values.node ?? process.execPath),
        }),
      );
    for (const { name, seconds, bytes } of found)
      say(`${name}: ${bytesText(bytes)}, ${JSON.stringify(seconds)}`);
  } finally {
    registry.end();
    await rm(work, { recursive: true, force: true });
  }
}

try {
  await main();
} catch (error) {
  say(error instanceof SetupError ? error.message : error.stack);
  process.exitCode = 1;
}

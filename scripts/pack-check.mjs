/**
 * The dry run of a release on this machine: publishes tarballs to a registry of its own and installs them as a stranger
 * would, without install scripts, compiler, CMake or Python; `usage` says how it is called.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readCall } from "./pack/call.mjs";
import { consume } from "./pack/check/consumer.mjs";
import { machineIn, thisMachine } from "./pack/check/machine.mjs";
import { managersIn, npmFolder } from "./pack/check/managers.mjs";
import { installTools, publish, startRegistry } from "./pack/check/registry.mjs";
import { tarballsIn } from "./pack/tarball.mjs";
import { bytesText, runMain, SetupError, say, step } from "./setup/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const usage = `usage: npm run pack:check -- [--packed FOLDER] [--node FILE ...] [--root FOLDER] [MANAGER ...]

Managers: npm, pnpm, yarn and bun, all unless named.
  --packed FOLDER   of the tarballs; build/pack unless given
  --node FILE       another Node than this one for them to run; may come again
  --root FOLDER     another Linux, in which all but the registry runs; needs root's rights
`;

function chosen(all, names) {
  const unknown = names.find((name) => !all.includes(name));
  if (unknown === undefined) return names.length === 0 ? all : names;
  throw new SetupError(`${unknown}: expected ${all.join(", ")} or nothing.`);
}

/** A row of a table in Markdown; seconds are those of each step. */
function row(manager, { node, glibc, bytes, seconds }) {
  const times = Object.values(seconds).map((each) => each.toFixed(1));
  return `| ${[node, manager, glibc ?? "", bytesText(bytes), ...times].join(" | ")} |`;
}

/** Tries each manager with each Node, whatever became of those before; prints the table, and says whether all went well. */
async function tryAll(names, nodes, where) {
  const rows = [];
  for (const node of nodes)
    for (const name of names)
      try {
        rows.push(row(name, await consume(name, { ...where, node })));
      } catch (error) {
        if (!(error instanceof SetupError)) throw error;
        say(error.message);
        rows.push(`| ${node} | ${name} | failed |`);
        process.exitCode = 1;
      }
  const steps = ["install", "import", "doctor", "demo", "init", "its install", "its start"];
  const head = ["Node", "manager", "glibc", "size", ...steps.map((each) => `${each} s`)];
  console.log([`| ${head.join(" | ")} |`, `|${"---|".repeat(head.length)}`, ...rows].join("\n"));
}

async function main() {
  const call = readCall(usage, {
    packed: { type: "string" },
    node: { type: "string", multiple: true },
    root: { type: "string" },
  });
  if (call === undefined) return;
  const { values, positionals } = call;
  const tarballs = await tarballsIn(resolve(values.packed ?? join(root, "build", "pack")));
  const tools = await installTools(join(root, "build", "pack-check"));
  const names = chosen(Object.keys(managersIn(tools)), positionals);
  const nodes = (values.node ?? [process.execPath]).map((path) => resolve(path));
  // Outside of the checkout, whose node_modules would be found otherwise.
  const work = await mkdtemp(join(tmpdir(), "seekrl-pack-check-"));
  const shared = [tools, npmFolder(), work];
  const machine = values.root === undefined ? thisMachine : machineIn(resolve(values.root), shared);
  const registry = await startRegistry(join(work, "registry"), tools);
  try {
    await step("published", () => publish(registry.url, tarballs));
    const folder = join(work, "consumer");
    await tryAll(names, nodes, { machine, tools, folder, url: registry.url });
  } finally {
    registry.end();
    await rm(work, { recursive: true, force: true });
  }
}

await runMain(main);

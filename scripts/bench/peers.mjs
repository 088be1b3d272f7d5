/** `npm run bench -- --peers [NAME...]`: sets peers up, measures every pair, writes a page of ratios. */
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { cacheRoot } from "../setup/libtorch.mjs";
import { runChild } from "./children.mjs";
import { commitOf, hardware, shareOfOthers, versions } from "./facts.mjs";
import { heldTo } from "./held.mjs";
import { measure } from "./measure.mjs";
import { pageOf } from "./page.mjs";
import { byHand, pairs } from "./pairs.mjs";
import { setUp } from "./setup.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..", "..");

const usage = `npm run bench -- --peers [NAME...] [--quick] [--rounds N] [--isa avx2] [--out FILE]
  NAME      only comparisons whose name contains one of these (default: all, which takes hours)
  --quick   small sizes and one round: an impression within some minutes
  --rounds  rounds of each comparison (default 3)
  --isa     holds both sides to this instruction set, where the processor has a later one
  --out     where the page is written (default runs/peers.md)
`;

const say = (line) => void process.stderr.write(`${line}\n`);

/** What the command line asks for. */
export function readChoice(args) {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      ...{ peers: { type: "boolean" }, quick: { type: "boolean", default: false } },
      ...{ rounds: { type: "string" }, isa: { type: "string" } },
      ...{ out: { type: "string", default: join("runs", "peers.md") } },
    },
  });
  const rounds = Number(values.rounds ?? (values.quick ? 1 : 3));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds: expected a whole number above 0, got ${values.rounds}`);
  const chosen = pairs.filter(
    ({ name }) => positionals.length === 0 || positionals.some((part) => name.includes(part)),
  );
  if (chosen.length === 0)
    throw new Error(
      `no comparison is named like ${positionals.join(", ")}; there are:\n${pairs.map(({ name }) => `  ${name}`).join("\n")}`,
    );
  const command = [
    "npm run bench --",
    ...args.map((each) => (/[\s'"]/.test(each) ? JSON.stringify(each) : each)),
  ].join(" ");
  const form = values.quick ? "quick" : "full";
  return { rounds, chosen, command, form, hold: heldTo(values.isa), out: values.out };
}

/** Why a pair is not measured, or undefined. */
export function whyNot(pair, { form, missing }) {
  if (pair[form] === undefined) return "left out by --quick";
  const name = pair.needs.find((each) => missing[each] !== undefined);
  return name && `${name} could not be set up: ${missing[name]}`;
}

const secondsSince = (started) => `${Math.round((performance.now() - started) / 1000)} s`;

async function outcomeOf(pair, context, others) {
  const started = performance.now();
  try {
    others.push(await shareOfOthers(context.signal));
    const measured = await measure(pair, context);
    say(
      `${pair.name}: ${measured.ratios.map((list) => list.map((ratio) => ratio.toFixed(2)).join(" ")).join("; ")} (${secondsSince(started)})`,
    );
    return { pair, measured };
  } catch (error) {
    if (context.signal.aborted) throw error;
    say(`${pair.name}: ${error.message}`);
    return { pair, failed: error.message };
  }
}

/** Measures what was chosen, and writes the page anew after each pair, so that a comparison that is ended leaves what it has. */
async function compare({ chosen, command, rounds, form, hold, out }, { scratch, signal }) {
  const run = (program, args, { env, ...options } = {}) =>
    runChild(program, args, { ...options, env: { ...hold?.env, ...env }, signal });
  const folder = join(cacheRoot(), "peers");
  await mkdir(folder, { recursive: true });
  const wanted = chosen.filter((pair) => pair[form] !== undefined).flatMap(({ needs }) => needs);
  const place = await setUp(new Set(wanted), { folder, run, say, signal, hold });
  const values = {
    threads: `${availableParallelism()}`,
    rounds: `${rounds}`,
    cache: folder,
    scratch,
    python: place.python,
    ...place.homes,
  };
  const others = [];
  const facts = {
    ...{
      command,
      form,
      rounds,
      others,
      isa: hold?.isa,
      hardware: hardware(),
      date: new Date().toISOString().slice(0, 10),
    },
    ...{ commit: await commitOf(root, run), versions: await versions(root, place, run) },
  };
  const outcomes = chosen.map((pair) => ({ pair, failed: "not reached: the comparison was ended before" }));
  for (const [i, pair] of chosen.entries()) {
    const failed = whyNot(pair, { form, missing: place.missing });
    outcomes[i] = failed
      ? { pair, failed }
      : await outcomeOf(pair, { run, root, values, form, rounds, signal }, others);
    await writeFile(out, pageOf({ outcomes, facts, byHand }));
  }
  return outcomes;
}

/** Ends with 0 where all was measured, 1 where something failed, 130 after Ctrl-C. */
async function main(choice) {
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"])
    process.once(name, () => stop.abort(new Error(`ended by ${name}`)));
  const out = resolve(choice.out);
  await mkdir(dirname(out), { recursive: true });
  const scratch = await mkdtemp(join(tmpdir(), "seekrl-peers-"));
  try {
    const outcomes = await compare({ ...choice, out }, { scratch, signal: stop.signal });
    say(`the page is ${out}`);
    return outcomes.every(({ pair, measured }) => measured !== undefined || pair[choice.form] === undefined)
      ? 0
      : 1;
  } catch (error) {
    if (!stop.signal.aborted) throw error;
    say(`${error.message}; what was measured stands in ${out}`);
    return 130;
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

/** Reads the command line; a mistake there is one sentence and the usage. `prepare` is called where there is none. */
export async function runFromCommandLine(args, prepare) {
  if (args.includes("--help")) {
    process.stdout.write(`usage: ${usage}`);
    return 0;
  }
  let choice;
  try {
    choice = readChoice(args);
  } catch (error) {
    process.stderr.write(`${error.message}\n\n${usage}`);
    return 2;
  }
  prepare();
  return main(choice);
}

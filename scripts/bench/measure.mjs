/** Runs a pair: both sides in turns, the order changing from round to round, or the one bench that asks its peers itself. */
import { existsSync } from "node:fs";
import { join } from "node:path";

/** Replaces each `{name}` by its value; a pair only names what was set up. */
function filled(text, values) {
  return text.replace(/\{([\w.-]+)\}/g, (_, name) => {
    if (values[name] === undefined) throw new Error(`nothing is known of {${name}} in ${text}`);
    return values[name];
  });
}

const objectsIn = (stdout) =>
  stdout
    .split("\n")
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line));

/** The number at a path of a result, or an error that says what is not there. */
export function figureAt(result, path) {
  const value = path.reduce((inner, key) => inner?.[key], result);
  if (!Number.isFinite(value)) throw new Error(`no figure ${path.join(" / ")} was printed`);
  return value;
}

/** Above 1 where ours is ahead, against the best of the figure's peers in that round. */
export function ratioOf({ ours, peers, better }, round) {
  const [own, theirs] = [figureAt(round.ours, ours), peers.map((path) => figureAt(round.peer, path))];
  return better === "more" ? own / Math.max(...theirs) : Math.min(...theirs) / own;
}

/** The arguments of one side: its own, then those of the form that it has or shares with the other. */
export function argumentsOf(pair, side, form) {
  return [...(pair[side].args ?? []), ...(pair[side][form] ?? pair[form])];
}

/** Both sides print one line of JSON each. */
class Sides {
  #pair;
  #context;

  constructor(pair, context) {
    this.#pair = pair;
    this.#context = context;
  }

  async #last(command, args, env) {
    const { run, root } = this.#context;
    const { stdout } = await run(command, args, { cwd: root, env });
    const result = objectsIn(stdout).at(-1);
    if (result === undefined) throw new Error("printed no line of JSON");
    return result;
  }

  #args(side) {
    const { values, form } = this.#context;
    return argumentsOf(this.#pair, side, form).map((each) => filled(each, values));
  }

  ours() {
    const bench = join("dist", "bench", `${this.#pair.ours.bench}.js`);
    return this.#last(process.execPath, [bench, ...this.#args("ours")]);
  }

  peer(variant) {
    const { program } = this.#pair.peer;
    const { python } = this.#context.values;
    const args = [program, ...(variant.args ?? []), ...this.#args("peer")];
    return this.#last(program.endsWith(".py") ? python : process.execPath, args, variant.env);
  }
}

/** In the first round every variant of the peer runs; the one that does best goes on, and is the one that counts. */
async function firstPeer(pair, sides, ours) {
  const tried = [];
  for (const variant of pair.peer.variants ?? [{}])
    tried.push({ variant, result: await sides.peer(variant) });
  const [figure] = pair.figures;
  const ratio = ({ result }) => ratioOf(figure, { ours, peer: result });
  return tried.reduce((best, each) => (ratio(each) < ratio(best) ? each : best));
}

function requireSame({ same = [] }, { ours, peer }) {
  for (const key of same)
    if (ours[key] === undefined || ours[key] !== peer[key])
      throw new Error(
        `the two sides did different work: ${key} is ${ours[key]} here, ${peer[key]} at the peer`,
      );
}

async function measureApart(pair, context) {
  const sides = new Sides(pair, context);
  const ours = await sides.ours();
  const { variant, result } = await firstPeer(pair, sides, ours);
  const rounds = [{ ours, peer: result }];
  for (let round = 1; round < context.rounds; round += 1) {
    // Whoever goes first finds another machine than whoever goes second.
    const early = round % 2 === 1 ? await sides.peer(variant) : undefined;
    const own = await sides.ours();
    rounds.push({ ours: own, peer: early ?? (await sides.peer(variant)) });
  }
  for (const round of rounds) requireSame(pair, round);
  return { rounds, variant: variant.name };
}

/** The bench takes its turns with the peer itself, and prints a line for each. */
async function measureTogether(pair, { run, root, values, form }) {
  const bench = join("dist", "bench", `${pair.ours.bench}.js`);
  const args = argumentsOf(pair, "ours", form).map((each) => filled(each, values));
  const env = Object.fromEntries(
    Object.entries(pair.env ?? {}).flatMap(([key, value]) => {
      const isKnown = [...value.matchAll(/\{([\w.-]+)\}/g)].every(([, name]) => values[name] !== undefined);
      return isKnown ? [[key, filled(value, values)]] : [];
    }),
  );
  const { stdout } = await run(process.execPath, [bench, ...args], { cwd: root, env });
  const rounds = objectsIn(stdout).flatMap(({ contenders }) =>
    contenders === undefined ? [] : [{ ours: contenders, peer: contenders }],
  );
  if (rounds.length === 0) throw new Error("printed no round");
  return { rounds };
}

async function prepare({ program, args, makes }, { run, root, values }) {
  if (existsSync(filled(makes, values))) return;
  await run(values.python, [program, ...args.map((each) => filled(each, values))], { cwd: root });
}

/**
 * Measures one pair.
 *
 * @param context `run` starts a program; `values` fill in arguments; `form` is `full` or `quick`; `rounds`
 * @returns the rounds, the peer's best variant, and the ratio of each figure in each round
 */
export async function measure(pair, context) {
  if (pair.prepare !== undefined) await prepare(pair.prepare, context);
  const { rounds, variant } = await (pair.peer.program === undefined ? measureTogether : measureApart)(
    pair,
    context,
  );
  const ratios = pair.figures.map((figure) => rounds.map((round) => ratioOf(figure, round)));
  return { rounds, variant, ratios };
}

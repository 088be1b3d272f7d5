/** A small real training with everything that the studio shows of it. */
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { LoggedSegment, LoggedTrajectory } from "../../apps/runs/trajectories/logged-trajectory.ts";
import { runDemo } from "../../apps/world/demo/demo.ts";
import { createWorld } from "../../apps/world/world.ts";
import { unpackFloats, unpackIds } from "../../lib/data/logs/packed-numbers.ts";
import type { ShownSegment } from "../../web/base/colour/tokens.ts";
import { runCli } from "../cli/run-cli.ts";
import { logOf } from "../runs/logs.ts";

/** What the quick demo leaves in a folder, and two files of results over the same questions. */
export interface RealRun {
  readonly folder: string;
  readonly index: string;
  /** Of parallel queries. */
  readonly run: string;
}

/** The run's trajectories: so many questions, twice each, in so many steps. */
export const demoSize = { steps: 2, trajectories: 32 };

async function evaluate(model: string, { folder, name }: { folder: string; name: string }): Promise<void> {
  const { code, stderr } = await runCli(
    ...["eval", "--model", join(folder, model), "--recipe", "world", "--index", join(folder, "index-seed-0")],
    ...["--questions", join(folder, "questions.jsonl"), "--out", join(folder, name)],
  );
  if (code !== 0) throw new Error(stderr);
}

/** Trains and evaluates; some ten seconds. */
export async function makeRealRun(folder: string): Promise<RealRun> {
  await runDemo({ out: folder, quick: true });
  const questions = createWorld({ seed: 0 }).questions.test.slice(0, 12);
  const text = questions.map((question) => `${JSON.stringify(question)}\n`).join("");
  await writeFile(join(folder, "questions.jsonl"), text);
  await evaluate("control-seed-0-quick", { folder, name: "imitation.jsonl" });
  await evaluate("multi-seed-0-quick", { folder, name: "after-rl.jsonl" });
  return { folder, index: join(folder, "index-seed-0"), run: join(folder, "multi-seed-0-quick") };
}

/** The segments of a trajectory as its log has them, read without the studio's server. */
export async function loggedSegments(run: string, row: number): Promise<ShownSegment[]> {
  const text = await readFile(logOf(run, "trajectories"), "utf8");
  const { segments } = JSON.parse(text.split("\n")[row] ?? "") as LoggedTrajectory;
  return segments.map((segment) => {
    const ids = [...unpackIds(segment.ids ?? "")];
    const column = (packed: LoggedSegment["gaps"]): (number | null)[] | undefined =>
      packed === undefined
        ? undefined
        : Array.from(unpackFloats(packed, ids.length), (each) => (Number.isNaN(each) ? null : each));
    const { kind, text: words, logprobs, gaps, entropies, advantages } = segment;
    const stored = { logprobs, gaps, entropies, advantages };
    const columns = Object.entries(stored).map(([name, packed]) => [name, column(packed)] as const);
    const known = Object.fromEntries(columns.filter(([, values]) => values !== undefined));
    const trained = column(advantages)?.map((each) => each !== null);
    return { kind, text: words, tokens: { ids, ...known, ...(trained && { trained }) } };
  });
}

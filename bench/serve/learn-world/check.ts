/** Whether what was sent, recorded and trained on are the same ids. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import type { LearnOptions } from "../../../apps/serve/learn/options.ts";
import { learnFrom } from "../../../apps/serve/learn/step.ts";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import type { Played } from "./player.ts";
import { historyOf, repliesOf, rewardsOf } from "./records.ts";

/** What a step is taken with, as the command was told. */
interface Learnt extends Pick<LearnOptions, "algorithm" | "klCoef" | "learningRate"> {
  readonly rank?: number;
}

interface CheckOptions {
  readonly out: string;
  readonly learn: Learnt;
}

const ordered = (ids: readonly number[], isStream: boolean): readonly number[] =>
  isStream ? ids.toSorted((a, b) => a - b) : ids;

/** Prints what it finds. */
export async function checkRecords(played: readonly Played[], options: CheckOptions): Promise<void> {
  const replies = await repliesOf(options.out);
  const numEqual = played.filter(({ id, ids, isStream }) => {
    const segments = replies.get(id)?.segments ?? [];
    const sampled = segments.flatMap(({ kind, tokens }) => (kind === "policy" ? [...tokens] : []));
    return String(ordered(sampled, isStream)) === String(ordered(ids, isStream));
  }).length;
  process.stdout.write(`recorded ids equal those sent: ${numEqual} of ${played.length} replies\n`);
  process.stdout.write(`learnt again from the records: ${await learnAgain(options)}\n`);
}

/** Takes every step of the history again, on what `replies.jsonl` holds, and compares what was promoted last. */
async function learnAgain({ out, learn }: CheckOptions): Promise<string> {
  const [history, replies, rewards] = [await historyOf(out), await repliesOf(out), await rewardsOf(out)];
  await using policy = await openLocalPolicy({ model: join(out, "model") }, { promptLookup: true });
  const { model } = policy;
  const { rank = 16 } = learn;
  let stable = await Adapter.create(model, { rank, seed: 0 });
  let candidate = await stable.clone();
  let trainer = await Trainer.open(candidate);
  let numSteps = 0;
  for (const row of history) {
    if (row.type === "step") {
      const choices = row.replies.map(([id]) => ({
        segments: replies.get(id)?.segments ?? [],
        reward: rewards.get(id) ?? Number.NaN,
      }));
      await learnFrom(choices, { trainer, reference: model, numSteps, options: learn });
      numSteps += 1;
    }
    if (row.type === "promoted") stable = await candidate.clone();
    if (row.type === "rolledBack" || row.type === "held") {
      candidate = await stable.clone();
      trainer = await Trainer.open(candidate);
    }
  }
  const [name, again] = ["adapter_model.safetensors", join(out, "again")];
  if (!existsSync(join(out, "learnt", name))) return "nothing was promoted";
  await stable.save(again);
  const [first, second] = await Promise.all(
    [join(out, "learnt"), again].map((at) => readFile(join(at, name))),
  );
  const isEqual = first?.equals(second ?? Buffer.alloc(0)) === true;
  return `${numSteps} steps, the promoted adapter is ${isEqual ? "the same byte for byte" : "ANOTHER"}`;
}

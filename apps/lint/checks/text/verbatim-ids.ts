/** Law 1: what is trained is what was sampled, id for id. */
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import type { TrainSequence } from "../../../../lib/train/batch/packing.ts";
import { type Conversation, type Conversations, conversationsOf } from "../../conversations.ts";
import { type Finding, quote, verdict } from "../../finding.ts";

const subject = { check: "what is trained is what was sampled, id for id", law: 1 };

/** Compares the ids that rows train with those that the engine gave. */
export function checkVerbatimIds(all: Conversations): Finding {
  const { tokenizer } = all.subject;
  const conversations = conversationsOf(all);
  const problems = conversations.flatMap((each) => differenceOf(each, tokenizer));
  const count = conversations.reduce((sum, { calls }) => sum + sampledIds(calls).length, 0);
  return verdict(subject, problems, `${count} ids; ${driftOf(all.free, tokenizer)}`);
}

function sampledIds(calls: Conversation["calls"]): number[] {
  return calls.flatMap(({ ids }) => [...ids]);
}

function trainedIds(sequences: readonly TrainSequence[]): number[] {
  return sequences.flatMap(({ tokens, rows }) => Array.from(rows, (row) => tokens[row + 1] ?? -1));
}

function differenceOf({ name, calls, sequences }: Conversation, tokenizer: Tokenizer): string[] {
  const [sampled, trained] = [sampledIds(calls), trainedIds(sequences)];
  const at = sampled.findIndex((id, i) => trained[i] !== id);
  if (at < 0 && trained.length === sampled.length) return [];
  if (at < 0) return [`${name}: expected ${sampled.length} trained ids, got ${trained.length}`];
  const show = (ids: readonly number[]): string => {
    const some = ids.slice(at, at + 4).filter((id) => id >= 0 && id < tokenizer.vocabSize);
    return `[${some.join(", ")}] ${quote(tokenizer.decode(some), 30)}`;
  };
  return [`${name}, sampled id ${at}: expected ${show(sampled)}, got ${show(trained)}`];
}

/** Where decoding and encoding again would have changed the ids, which shows that it was not done. */
function driftOf({ calls }: Conversation, tokenizer: Tokenizer): string {
  for (const { ids } of calls) {
    const again = tokenizer.encode(tokenizer.decode(ids));
    const at = ids.findIndex((id, i) => again[i] !== id);
    if (at < 0) continue;
    const [kept, changed] = [ids, again].map((list) => [...list.slice(at, at + 3)].join(", "));
    return `text to ids again would drift: [${kept}] to [${changed}] at ${at} of a turn`;
  }
  return "text to ids again would not drift here";
}

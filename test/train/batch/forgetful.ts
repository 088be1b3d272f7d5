/** Rollouts of a tiny model over a memory stack, and each of their turns alone. */
import { Engine } from "../../../lib/engine/engine.ts";
import type { Model } from "../../../lib/model/model.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { defaultMemory } from "../../../lib/rollout/memory.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { recordedSearch } from "../../rollout/doubles.ts";
import { tinyModel, tinyVocab } from "../tiny.ts";

// Ids 0 to 5 are whole actions, so that even a random model plans, searches, takes back and sums up.
export const kinds = ["plan", "reasoning", "search", "backtrack", "summary", "answer"];
const words = Array.from({ length: tinyVocab }, (_, id) =>
  id < 6 ? `<${kinds[id]}> ${id} </${kinds[id]}>` : "xyz"[id % 3]!,
);
const tokenizer = {
  vocabSize: tinyVocab,
  eosIds: [],
  tokenBytes: (id: number) => new TextEncoder().encode(words[id]),
  isSpecial: () => false,
  encode: (text: string) =>
    Int32Array.from({ length: 2 + (text.length % 3) }, (_, i) => 6 + ((text.length + i) % 30)),
  decode: (ids: Int32Array) => [...ids].map((id) => words[id]).join(""),
};

const memory = { ...defaultMemory, minActions: 9 };
const parts = {
  tokenizer,
  search: recordedSearch(),
  format: { ...ragFormat("single"), turnEnds: stackTurnEnds(), parse: stackParser(), memory },
  limits: {
    maxTurns: 12,
    maxResponseTokens: 9,
    maxObservationTokens: 9,
    maxTokens: 120,
    topK: 1,
    searchTimeoutMs: 1000,
  },
  sampling: {},
};

/** A tiny model, and rollouts of it whose context was cut. */
export async function forgetfulRollouts(): Promise<{ model: Model; trajectories: readonly Trajectory[] }> {
  const model = await tinyModel();
  await using engine = await Engine.open(model, { tokenizer, blockTokens: 4 });
  const play = (id: string) =>
    searchAgent({ ...parts, engine }).rollouts({ id, question: "?" }, { samples: 4, seed: 2 });
  return { model, trajectories: (await Promise.all(["a", "b", "c"].map(play))).flat() };
}

export const tokenCount = ({ segments }: Trajectory): number =>
  segments.filter(({ kind }) => kind === "policy").reduce((sum, { tokens }) => sum + tokens.length, 0);

/** A policy segment alone, in its context: the truth that spans are held against. */
export function apart({ segments }: Pick<Trajectory, "segments">): TrainSequence[] {
  return segments.flatMap(({ kind, visible, tokens, logprobs }, i) => {
    if (kind !== "policy") return [];
    const context = (visible ?? segments.map((_, j) => j).slice(0, i)).flatMap((j) => [
      ...segments[j]!.tokens,
    ]);
    const rows = Int32Array.from(tokens, (_, t) => context.length + t - 1);
    return [{ tokens: Int32Array.from([...context, ...tokens]), rows, rolloutLogprobs: logprobs! }];
  });
}

export const flat = (arrays: readonly ArrayLike<number>[]): number[] =>
  arrays.flatMap((values) => Array.from(values));

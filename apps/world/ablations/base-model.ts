/** The world's model before format learning: it reads, asks and concludes, but in plain words and without a format. */

import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { TrainSequence } from "../../../lib/train/batch/packing.ts";
import { sftSequence } from "../../../lib/train/batch/sequence.ts";
import { trainWorldModel, type WorldModelOptions, worldSft } from "../demo/world-model.ts";
import { kChatMarks } from "../prompt.ts";
import {
  type Demonstration,
  type DemonstrationOptions,
  demonstrationBatch,
} from "../teachers/demonstrations.ts";
import { ragSpeech, type Speech } from "../teachers/speech.ts";

/**
 * How the base model was made. It stands for an instruct model that has not learnt the format: most of what it reads
 * is conversations in another speech under another prompt; under the agents' own prompt it goes on in that other speech
 * three times in four. How often it keeps to the form is a choice made here, so what SFT and RL gain over it says
 * nothing about how much they gain over a real model.
 */
export const baseSft = {
  steps: 2600,
  /** Of the 24 demonstrations of a step: under the agents' prompt, but in the other speech. */
  unheeding: 3,
  /** In the agents' tags. */
  obedient: 1,
} as const;

const asks: Readonly<Record<Demonstration["mode"], string>> = {
  single: "one query at a time",
  multi: "three queries at a time",
};

/** Searching in plain words, without a tag, and documents without a frame. */
const plainSpeech: Speech = {
  prompt: (question, mode) =>
    `${kChatMarks.user}Question: ${question} ${asks[mode]}\n${kChatMarks.assistant}`,
  search: (thought, queries) => `${thought} ${queries.join(", ")}?\n`,
  observation: (_, documents) =>
    documents
      .flat()
      .map(({ title, text }, i) => `Doc ${i + 1}: ${title}\n${text}\n`)
      .join(""),
  answer: (thought, answer) => `${thought} The answer is ${answer}.${kChatMarks.end}`,
};

const unheedingSpeech: Speech = { ...plainSpeech, prompt: ragSpeech.prompt };

/** The demonstrations of one step, all of one fresh world. */
export function baseDemonstrations(seed: number, step: number): Demonstration[] {
  const { batchSize, warmUp } = worldSft;
  const common: DemonstrationOptions = { seed, perWorld: batchSize, warmUp };
  const reader: DemonstrationOptions = { ...common, careful: Number.POSITIVE_INFINITY };
  const numPlain = batchSize - baseSft.unheeding - baseSft.obedient;
  const plain = demonstrationBatch(step, { ...reader, speech: plainSpeech });
  const unheeding = demonstrationBatch(step, { ...reader, speech: unheedingSpeech });
  const obedient = demonstrationBatch(step, { ...common, speech: ragSpeech });
  // Modes alternate within a batch; by turns, so do the modes of the few that obey.
  const obeys = (i: number): boolean => i >= batchSize - 2 && i % 2 === step % 2;
  return plain.map((each, i) => (obeys(i) ? obedient[i]! : i < numPlain ? each : unheeding[i]!));
}

function baseBatch(tokenizer: Tokenizer, seed: number, step: number): TrainSequence[] {
  const { otherWeight } = worldSft;
  return baseDemonstrations(seed, step).map(({ segments }) =>
    sftSequence(
      segments.map(({ kind, text }) => ({ kind, tokens: tokenizer.encode(text) })),
      { otherWeight },
    ),
  );
}

/**
 * Trains the base model from nothing and writes it as a model folder.
 *
 * @param options - folder, seed, steps (`@default` baseSft.steps)
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function trainBaseModel(options: Omit<WorldModelOptions, "batch">): Promise<void> {
  await trainWorldModel({ steps: baseSft.steps, ...options, batch: baseBatch });
}

/** A small SFT run as a program of its own, so that a test can kill it: `node sft-run.js FOLDER`. */
import { pathToFileURL } from "node:url";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { epochs, sft } from "../../../lib/train/sft.ts";
import { filled, tinyModel, tinySequence } from "../tiny.ts";

export const sftRunSteps = 40;

/** Trains into a folder and says each finished step. */
export async function runSft(folder: string, onStep: (step: number) => void): Promise<void> {
  await using model = await tinyModel();
  await using trainer = await Trainer.open(model);
  const sequences = Array.from({ length: 30 }, (_, i) => {
    const sequence = tinySequence(i, 10 + (i % 7));
    return { ...sequence, weights: filled(sequence.rows.length, () => 1) };
  });
  await sft({
    trainer,
    ...epochs(sequences, { batchSize: 8, epochs: (sftRunSteps * 8) / 30, seed: 3 }),
    steps: sftRunSteps,
    learningRate: schedule({ peak: 3e-3, warmupSteps: 5, decay: "cosine", steps: sftRunSteps }),
    seed: 3,
    maxTokens: 40,
    run: { folder, checkpointEvery: 6 },
    onStep: ({ step }) => onStep(step),
  });
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  await runSft(process.argv[2]!, (step) => process.stdout.write(`${step}\n`));
}

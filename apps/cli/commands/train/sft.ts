/** `seekrl sft`: fine-tunes a model on written conversations. */
import { join } from "node:path";
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { readDemonstrations, tokensOf } from "../../../../lib/curate/read-demonstrations.ts";
import { copyTokenizer } from "../../../../lib/text/tokenizers/copy-tokenizer.ts";
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { schedule } from "../../../../lib/train/algorithm/schedule.ts";
import type { TrainSequence } from "../../../../lib/train/batch/packing.ts";
import { sftSequence } from "../../../../lib/train/batch/sequence.ts";
import { command } from "../../command.ts";
import { openTrainer, planEpochs, runSft } from "../../open/learners.ts";
import { loadModel, loadTokenizer } from "../../open/session.ts";
import { modelOptions, runOptions } from "../../options/model-options.ts";
import { progressLine } from "../../report/progress.ts";

/** The command. */
export const sftCommand = command({
  name: "sft",
  summary: "fine-tunes a model on written conversations; the loss sees the policy's tokens only",
  goesOn: "from the last finished step",
  options: z.strictObject({
    ...modelOptions,
    data: z.string().describe("JSON Lines of {segments: [{kind, text, tokens?}]} or {prompt, completion}"),
    ...runOptions,
    epochs: z.number().gt(0).default(1).describe("passes over the data"),
    batchSize: z.int().min(1).default(32).describe("conversations of one step"),
    learningRate: z.number().gt(0).default(1e-5).describe("the highest rate"),
    warmupSteps: z.int().min(0).default(0).describe("steps of linear warm-up"),
    decay: z.enum(["constant", "linear", "cosine"]).default("cosine").describe("what follows the warm-up"),
    weightDecay: z.number().min(0).default(0.01).describe("AdamW's"),
    otherWeight: z.number().min(0).default(0).describe("weight of prompt and observation tokens"),
  }),
  run: async (options, io) => {
    const { model: start, data, out, seed, learningRate, warmupSteps, decay } = options;
    const tokenizer = await loadTokenizer(start);
    const sequences = await readSequences(data, tokenizer, options.otherWeight);
    const { steps, batch } = await planEpochs(sequences, options);
    await using model = await loadModel(options);
    await using trainer = await openTrainer(model, options.weightDecay);
    const progress = progressLine(io);
    let loss = Number.NaN;
    await runSft({
      ...{ trainer, batch, steps, seed, signal: io.signal, maxTokens: options.microBatchTokens },
      learningRate: schedule({ peak: learningRate, warmupSteps, decay, steps }),
      run: {
        folder: out,
        checkpointEvery: options.checkpointEvery,
        tensorBoard: options.tensorboard,
        onCheckpoint: (to) => copyTokenizer(start, to),
      },
      onStep: (metrics) => {
        loss = metrics.loss;
        progress.show(`step ${metrics.step} of ${steps}: loss ${loss.toFixed(4)}`);
      },
    });
    progress.end();
    const folder = join(out, "model");
    await model.save(folder);
    await copyTokenizer(start, folder);
    const outcome = Number.isNaN(loss) ? " were done before" : `, loss ${loss.toFixed(4)}`;
    io.write(`${steps} steps${outcome}; model in ${folder}\n`);
    io.result({ steps, loss: Number.isNaN(loss) ? null : loss, model: folder });
  },
});

async function readSequences(
  path: string,
  tokenizer: Tokenizer,
  otherWeight: number,
): Promise<TrainSequence[]> {
  const sequences: TrainSequence[] = [];
  for await (const conversation of readDemonstrations(path)) {
    const sequence = sftSequence(tokensOf(conversation, tokenizer), { otherWeight });
    if (sequence.rows.length === 0) {
      throw new SeekError("ERR_FORMAT", `${conversation.where}: expected words of the policy, got none`);
    }
    sequences.push(sequence);
  }
  if (sequences.length > 0) return sequences;
  throw new SeekError("ERR_FORMAT", `${path}: expected at least one conversation, got none`);
}

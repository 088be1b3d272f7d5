/** `seekrl sft`: fine-tunes a model on written conversations. */
import { join } from "node:path";
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import type { LoraOptions } from "../../../../lib/model/form/lora-options.ts";
import type { ChatTemplate } from "../../../../lib/text/templates/chat-template.ts";
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { type Schedule, schedule } from "../../../../lib/train/algorithm/schedule.ts";
import { checkContexts } from "../../../../lib/train/batch/micro-batches.ts";
import type { TrainSequence } from "../../../../lib/train/batch/packing.ts";
import { normaliseWeights, sftSequence } from "../../../../lib/train/batch/sequence.ts";
import { readDemonstrations, tokensOf } from "../../../../lib/train/curate/read-demonstrations.ts";
import type { Trainer } from "../../../../lib/train/learner/trainer.ts";
import { largestBatch } from "../../../../lib/train/memory/plan.ts";
import type { SftOptions } from "../../../../lib/train/sft.ts";
import { settingOfPolicy } from "../../../world/world-file.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { dataFile } from "../../fields.ts";
import { inJob, type Job } from "../../job.ts";
import { openTrainer, planEpochs, runSft } from "../../open/learners.ts";
import {
  copyBeside,
  loadChatTemplate,
  loadPolicy,
  loadTokenizer,
  policyFolders,
} from "../../open/local-policy.ts";
import { beginningOf, doneIn, runFolderOf } from "../../open/run-folder.ts";
import { loraOf, loraOption, oneAdapter } from "../../options/lora-options.ts";
import { modelOptions } from "../../options/model-options.ts";
import { recipeSchema } from "../../options/recipe-options.ts";
import {
  activationOptions,
  adamWOptions,
  bytesOf,
  refuseSharing,
  runOptions,
  sharingOf,
  sharingOptions,
} from "../../options/run-options.ts";
import { Pace } from "../../report/pace.ts";
import { sftStepLine } from "../../report/training-report.ts";
import { tellMemory } from "./training-memory.ts";

const schema = z.strictObject({
  ...modelOptions,
  data: dataFile(
    z
      .string()
      .describe(
        "JSON Lines of {segments: [{kind, text, tokens?}]}, {prompt, completion}, {messages: [{role, content}]} or Alpaca's {instruction, input, output}",
      ),
  ),
  validation: dataFile(
    z
      .string()
      .optional()
      .describe(
        "conversations to evaluate on, as eval/loss; the checkpoint of the least stays as checkpoints/best",
      ),
  ),
  evalEvery: z.int().min(1).default(50).describe("with --validation: steps between evaluations"),
  recipe: recipeSchema.optional().meta({
    head: "name",
    description:
      "of a model of the built-in world: the recipe whose demonstrations these are, by which ask asks it (as before)",
  }),
  ...runOptions,
  ...activationOptions,
  ...sharingOptions,
  epochs: z.number().gt(0).default(1).describe("passes over the data"),
  batchSize: z.int().min(1).default(32).describe("conversations of one step"),
  learningRate: z.number().gt(0).optional().describe("the highest rate (0.00001; 0.0002 of an adapter)"),
  warmupSteps: z.int().min(0).default(0).describe("steps of linear warm-up"),
  decay: z.enum(["constant", "linear", "cosine"]).default("cosine").describe("what follows the warm-up"),
  optimizer: z.strictObject(adamWOptions).optional().describe("AdamW's settings"),
  lora: loraOption,
  dryRun: z.boolean().default(false).describe("tells the plan and its memory; nothing is trained or written"),
  otherWeight: z.number().min(0).default(0).describe("weight of prompt and observation tokens"),
});

/** An adapter wants about ten times the rate of its model's weights (arXiv 2106.09685, 2305.14314). */
const usualRates = { weights: 1e-5, adapter: 2e-4 } as const;

/** The command. */
export const sftCommand = command({
  name: "sft",
  summary: "fine-tunes a model on written conversations; the loss sees the policy's tokens only",
  goesOn: "from the last finished step",
  knowsRanks: true,
  options: schema,
  run: (given, io) => {
    refuseSharing(given);
    return inJob(io, (job) => fineTune(given, job), given);
  },
});

async function fineTune(given: Given, job: Job): Promise<void> {
  const { io, processGroup, tensorParallel } = job;
  const { options, folders, lora, isAdapter } = await subjectOf(given);
  const { sequences, held } = await readData(options);
  const planned = await planEpochs(sequences, options);
  const { steps } = planned;
  const { form, memory } = await tellTraining(sequences, { ...options, lora, ranks: processGroup?.size }, io);
  io.log(`updates    ${steps} steps of ${options.batchSize} conversations, rate ${options.learningRate}`);
  checkContexts([...sequences, ...held], form.config);
  if (options.dryRun) return io.result({ steps, memory });
  // Each process reads its share when the trainer is opened.
  const isDeferred = options.zero === 3 && !isAdapter;
  await using loaded = await loadPolicy({ ...options, lora, tensorParallel, isDeferred }, io);
  await using trainer = await openTrainer(loaded.policy, {
    ...options.optimizer,
    activationBytes: bytesOf(options.activationGib),
    ...sharingOf(options),
    processGroup,
  });
  const beginning = await beginningOf(options, steps);
  if (beginning !== undefined) io.log(beginning);
  const evaluation = held.length === 0 ? undefined : lossOn(held, trainer, options);
  const loss = await trained({ ...planned, trainer, evaluation }, options, folders, job);
  const folder = join(options.out, "model");
  const outcome = loss === undefined ? " were done before" : `, loss ${loss.toFixed(4)}`;
  const done = await doneIn(options.out);
  io.write(`${done} steps${outcome}; model in ${folder}\n`);
  io.result({ steps: done, loss: loss ?? null, model: folder });
}

type Given = z.output<typeof schema>;
type Folders = Awaited<ReturnType<typeof policyFolders>>;

/** What is trained, and the rate that is usual for it. @throws UsageError for options that do not go with the model */
async function subjectOf(given: Given) {
  const folders = await policyFolders(given);
  const lora = loraOf(given.lora);
  if (lora !== undefined && folders.adapter !== undefined) throw new UsageError(oneAdapter);
  const isAdapter = lora !== undefined || folders.adapter !== undefined;
  if (given.recipe !== undefined && (await settingOfPolicy(folders)) === undefined) {
    throw new UsageError(`--recipe: expected with a model of the built-in world, got ${folders.model}`);
  }
  const learningRate = given.learningRate ?? (isAdapter ? usualRates.adapter : usualRates.weights);
  return { options: { ...given, ...folders, learningRate }, folders, lora, isAdapter };
}

/** What is trained on, and what is held out. */
async function readData({ model, data, validation, otherWeight }: Options) {
  const parts = { tokenizer: await loadTokenizer(model), chatTemplate: await loadChatTemplate(model) };
  const sequences = await readSequences(data, parts, otherWeight);
  const held = validation === undefined ? [] : await readSequences(validation, parts, otherWeight);
  return { sequences, held };
}

/** Trains as planned. @returns the loss of the last step; undefined where all were done before */
async function trained(
  plan: Pick<SftOptions, "batch" | "steps" | "data" | "trainer" | "evaluation">,
  options: Options,
  folders: Folders,
  { io, layoutLine }: Job,
): Promise<number | undefined> {
  const { steps } = plan;
  const pace = new Pace();
  const last = await runSft({
    ...{ ...plan, seed: options.seed, maxTokens: options.microBatchTokens, signal: io.signal },
    learningRate: rateOf(options, steps),
    run: {
      ...(await runFolderOf(options)),
      layoutLine,
      best: options.validation ? { metric: "eval/loss", mode: "min" } : undefined,
      onCheckpoint: (to) => copyBeside(folders, to, options.recipe),
    },
    onStep: (metrics) => io.log(sftStepLine(metrics, steps, pace.at(metrics.step, steps)?.secondsLeft)),
  });
  return last?.loss;
}

type Options = Given & { readonly learningRate: number };

/** What it takes, before a weight is read. */
function tellTraining(
  sequences: readonly TrainSequence[],
  options: Omit<Options, "lora"> & {
    readonly ranks: number | undefined;
    readonly lora: LoraOptions | undefined;
  },
  io: CommandIo,
) {
  const { optimizer, activationGib, batchSize, microBatchTokens: maxTokens, validation } = options;
  return tellMemory(
    {
      ...{ ...options, ...optimizer },
      batch: largestBatch(sequences, { batchSize, maxTokens }),
      activationBytes: bytesOf(activationGib),
      isGathered: validation !== undefined,
    },
    io,
  );
}

function rateOf({ learningRate: peak, warmupSteps, decay }: Options, steps: number): Schedule {
  return schedule({ peak, warmupSteps, decay, steps });
}

/** The weighted mean of -log p over what is not trained on. */
function lossOn(
  held: readonly TrainSequence[],
  trainer: Trainer,
  { evalEvery: every, microBatchTokens: maxTokens }: Options,
): SftOptions["evaluation"] {
  const weighted = normaliseWeights(held);
  const evaluate = async () => {
    const scores = await trainer.logprobs(weighted, { maxTokens });
    const losses = scores.map((one, i) =>
      one.reduce((sum, p, row) => sum - p * weighted[i]!.weights![row]!, 0),
    );
    return { "eval/loss": losses.reduce((sum, loss) => sum + loss, 0) };
  };
  return { every, evaluate };
}

async function readSequences(
  path: string,
  {
    tokenizer,
    chatTemplate,
  }: { readonly tokenizer: Tokenizer; readonly chatTemplate?: ChatTemplate | undefined },
  otherWeight: number,
): Promise<TrainSequence[]> {
  const sequences: TrainSequence[] = [];
  for await (const conversation of readDemonstrations(path, { chatTemplate })) {
    const sequence = sftSequence(tokensOf(conversation, tokenizer), { otherWeight });
    if (sequence.rows.length === 0) {
      throw new SeekError("ERR_FORMAT", `${conversation.where}: expected words of the policy, got none`);
    }
    sequences.push(sequence);
  }
  if (sequences.length > 0) return sequences;
  throw new SeekError("ERR_FORMAT", `${path}: expected at least one conversation, got none`);
}

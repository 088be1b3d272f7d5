/** What the variants of one mode share: SFT data of a teacher, a model fine-tuned on them, selected questions. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { writeFileAtomic } from "../../../lib/base/files/files.ts";
import { type Question, readQuestions, writeQuestions } from "../../../lib/data/question.ts";
import { Model } from "../../../lib/model/model.ts";
import { exactMatch } from "../../../lib/reward/metrics/metrics.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { copyTokenizer } from "../../../lib/text/tokenizers/copy-tokenizer.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { schedule } from "../../../lib/train/algorithm/schedule.ts";
import { sftSequence } from "../../../lib/train/batch/sequence.ts";
import { type AttemptedQuestion, attemptQuestions } from "../../../lib/train/curate/attempts.ts";
import { ragCurriculum } from "../../../lib/train/curate/curriculum.ts";
import { writeDemonstration } from "../../../lib/train/curate/demonstration.ts";
import { tokensOf } from "../../../lib/train/curate/read-demonstrations.ts";
import { type SftSample, sftSamples } from "../../../lib/train/curate/samples.ts";
import { ragSelection } from "../../../lib/train/curate/selection.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { epochs, sft } from "../../../lib/train/sft.ts";
import { worldRecipe } from "../recipes/world.ts";
import { openAgent, type Setting } from "./setting.ts";

/**
 * Format learning, short: the base model reads already, and of a world so small whatever is shown often is learnt by
 * heart. Chosen among three by the exact match on seed 0's validation questions, one query a turn: 79.0 per cent, and
 * 75.5 with two epochs at 2e-4, 52.5 with four at 1e-3. The paper chooses by validation loss.
 */
const formatSft = { sizes: { epochs: 1, batchSize: 32 }, rate: { peak: 3e-4, warmupSteps: 10 } } as const;

/** What one mode's trainings start from. */
export interface Prepared {
  /** Folder of the fine-tuned model. */
  readonly sft: string;
  readonly all: readonly Question[];
  readonly selected: readonly Question[];
}

/**
 * Plays the paper's data pipeline: the teacher answers all training questions once; what is right is cut into the four
 * categories and the base model fine-tuned on it; what was wrong is tried again up to ten times at temperature 1.2. A
 * part that is there already is not made again.
 *
 * @param setting - folders, world, mode
 * @returns model folder and questions
 * @throws ERR_ABORTED when the signal fires; ERR_IO
 */
export async function prepare(setting: Setting): Promise<Prepared> {
  const { folder, world, onLine, mode } = setting;
  const all = world.questions.train.slice(0, setting.sizes.numTrain);
  const first = await teach(setting, all);
  const right = first.filter(({ isRight }) => isRight);
  onLine(`${mode}: the teacher answered ${right.length} of ${all.length} questions rightly`);
  const model = join(folder, "sft");
  if (!existsSync(join(model, "model.safetensors"))) await learnFormat(setting, right, model);
  const chosen = join(folder, "selected.jsonl");
  if (!existsSync(chosen)) await select(setting, { all, right, chosen });
  const selected: Question[] = [];
  for await (const question of readQuestions(chosen)) selected.push(question);
  return { sft: model, all, selected };
}

const isRight = ({ answer = "" }: Trajectory, { answers }: Question): boolean =>
  exactMatch(answer, answers) === 1;

async function teach(
  setting: Setting,
  questions: readonly Question[],
): Promise<readonly AttemptedQuestion[]> {
  const { folder, mode, seed, teacher, signal } = setting;
  await using policy = await openAgent(teacher, setting);
  const agent = searchAgent({ ...policy.parts, sampling: { temperature: 1 } });
  const { outcomes } = await attemptQuestions(questions, {
    ...{ agent, isRight, seed, signal },
    write: (trajectory) => writeDemonstration(trajectory),
    log: { path: join(folder, "demonstrations.jsonl"), settings: { seed, mode } },
  });
  return outcomes;
}

async function learnFormat(
  setting: Setting,
  right: readonly AttemptedQuestion[],
  folder: string,
): Promise<void> {
  const { base, mode, seed, onLine, signal, device } = setting;
  const { format } = worldRecipe({ queries: mode });
  const samples = right.flatMap(
    ({ demonstration }) => sftSamples(demonstration?.segments ?? [], format).samples,
  );
  const counts = [1, 2, 3, 4].map((wanted) => samples.filter(({ category }) => category === wanted).length);
  onLine(`${mode}: ${samples.length} samples, by category ${counts.join(", ")}`);
  const tokenizer = await Tokenizer.load(base);
  const sequenceOf = ({ segments }: SftSample) => sftSequence(tokensOf({ segments, where: mode }, tokenizer));
  const plan = epochs(samples.map(sequenceOf), { ...formatSft.sizes, seed });
  await using model = await Model.load(base, { device });
  await using trainer = await Trainer.open(model, { beta2: 0.95 });
  await sft({
    ...{ trainer, ...plan, seed, signal },
    learningRate: schedule({ ...formatSft.rate, decay: "cosine", steps: plan.steps }),
    onStep: ({ step, loss }) => {
      if (step === plan.steps) onLine(`${mode}: sft, ${step} steps, loss ${loss.toFixed(3)}`);
    },
  });
  await model.save(folder);
  await copyTokenizer(base, folder);
}

async function select(
  setting: Setting,
  { all, right, chosen }: { all: readonly Question[]; right: readonly AttemptedQuestion[]; chosen: string },
): Promise<void> {
  const { folder, mode, seed, teacher, onLine, signal } = setting;
  await using policy = await openAgent(teacher, setting);
  const { temperature } = ragSelection;
  const { questions, counts } = await ragCurriculum(all, {
    agent: searchAgent({ ...policy.parts, sampling: { temperature } }),
    ...{ isRight, seed, solved: new Set(right.map(({ id }) => id)), signal },
    log: { path: join(folder, "attempts.jsonl"), settings: { seed, mode, temperature } },
  });
  await writeFileAtomic(join(folder, "selection.json"), `${JSON.stringify(counts)}\n`);
  await writeQuestions(chosen, questions);
  const text = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  onLine(`${mode}: ${questions.length} questions selected (${text.join("; ")})`);
}

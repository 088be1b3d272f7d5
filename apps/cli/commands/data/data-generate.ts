/** `seekrl data generate`: a teacher answers questions with a search; what it answers rightly becomes SFT data. */
import { z } from "zod";
import { checkFilePlace } from "../../../../lib/base/files/files.ts";
import { lockFile } from "../../../../lib/base/files/folder-lock.ts";
import { writeJsonLines } from "../../../../lib/data/files/jsonl.ts";
import type { Question } from "../../../../lib/data/question.ts";
import type { Recipe } from "../../../../lib/recipes/recipe.ts";
import { promptText } from "../../../../lib/rollout/session/prompt.ts";
import {
  type AttemptedQuestion,
  type Attempts,
  attemptQuestions,
} from "../../../../lib/train/curate/attempts.ts";
import { writeDemonstration } from "../../../../lib/train/curate/demonstration.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import {
  attemptOptions,
  attemptProgress,
  failuresText,
  openAgent,
  openRule,
  questionsToAsk,
} from "../../open/attempt-options.ts";
import { openEnvironment, recipeOf } from "../../options/agent-options.ts";
import { judgeSettings } from "../../options/judge-options.ts";
import { samplingOptions } from "../../options/sampling-options.ts";
import { progressLine } from "../../report/progress.ts";

const schema = z.strictObject({
  ...attemptOptions,
  student: z
    .string()
    .optional()
    .describe(
      "model folder that is to learn, if it is not the teacher's: texts in its template, without ids",
    ),
  attempts: z.int().min(1).default(1).describe("rollouts of a question until one is right"),
  temperature: samplingOptions.temperature,
  topP: samplingOptions.topP,
  concurrency: z.int().min(1).default(64).describe("questions under way at once"),
  seed: z.int().min(0).default(0).describe("fixes every sampled token of a local model"),
  out: z
    .string()
    .describe("file for the right trajectories; <out>.attempts.jsonl says how each question fared"),
});

type Options = z.output<typeof schema>;

/** The command. */
export const dataGenerateCommand = command({
  name: "data generate",
  summary: "a teacher answers questions with a search; what it answers rightly becomes data for sft",
  goesOn: "with the questions that are left",
  options: schema,
  run: async (options, io) => {
    await checkFilePlace(options.out);
    using _lock = await lockFile(options.out);
    const questions = await questionsToAsk(options);
    const { temperature, topP } = options;
    await using environment = await openEnvironment(options, io);
    const recipe = { ...recipeOf(options, { tools: environment.tools }), sampling: { temperature, topP } };
    const promptOf = await studentPrompt(options, recipe);
    await using rule = await openRule(options, io.signal);
    await using opened = await openAgent(options, { recipe, search: environment.search, io });
    const progress = progressLine(io);
    const attempts = await attemptQuestions(questions, {
      ...{ agent: opened.agent, isRight: rule.isRight, maxAttempts: options.attempts, seed: options.seed },
      ...{ concurrency: options.concurrency, signal: io.signal, onProgress: attemptProgress(progress) },
      write: (trajectory, { question }) => writeDemonstration(trajectory, promptOf(question)),
      log: { path: `${options.out}.attempts.jsonl`, settings: settingsOf(options) },
    });
    progress.end();
    await writeJsonLines(options.out, rightOnes(questions, attempts.outcomes));
    report(attempts, options, io);
  },
});

type PromptOf = (question: string) => string | undefined;

/** How the student is asked; undefined when the teacher's own words and ids can stand. */
async function studentPrompt({ student, endpoint }: Options, { format }: Recipe): Promise<PromptOf> {
  if (student === undefined && endpoint === undefined) return () => undefined;
  if (student === undefined)
    throw new UsageError("--student: with --endpoint the model that is to learn must be named");
  // The marks around results are the teacher's, and its words lack the mark that ends the student's turn.
  if (format.isMessage) {
    throw new UsageError(
      "--tools: what a tool says is a message, which can be written for the teacher itself only",
    );
  }
  const { ChatTemplate } = await import("../../../../lib/text/templates/chat-template.ts");
  const template = await ChatTemplate.load(student);
  return (question) => promptText(format, question, template);
}

/** What decides the outcome; the questions are compared one by one. */
function settingsOf(options: Options): object {
  const { questions: _, numQuestions, concurrency, out, judge, ...settings } = options;
  return { ...settings, judge: judgeSettings(judge) };
}

function* rightOnes(
  questions: readonly Question[],
  outcomes: readonly AttemptedQuestion[],
): Generator<object> {
  const byId = new Map(questions.map((question) => [question.id, question]));
  for (const { id, attempts, demonstration } of outcomes) {
    if (demonstration) yield { ...byId.get(id), attempts, ...demonstration };
  }
}

function report({ outcomes, failures }: Attempts, { out }: Options, io: CommandIo): void {
  const right = outcomes.filter(({ isRight }) => isRight).length;
  const wrong = outcomes.length - right;
  if (failures.length > 0) io.log(failuresText(failures));
  io.write(
    `${right} trajectories in ${out}, ${wrong} questions answered wrongly, ${failures.length} failed\n`,
  );
  io.result({ out, right, wrong, failed: failures.length });
}

/** `seekrl data select`: chooses questions to train on, by the rule of RAG-R1 or of R1-Searcher. */
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { checkFilePlace } from "../../../../lib/base/files/files.ts";
import { type Question, writeQuestions } from "../../../../lib/data/question.ts";
import { attemptQuestions } from "../../../../lib/train/curate/attempts.ts";
import {
  type Curriculum,
  r1SearcherCurriculum,
  ragCurriculum,
  splitQuestions,
} from "../../../../lib/train/curate/curriculum.ts";
import { readDemonstrations } from "../../../../lib/train/curate/read-demonstrations.ts";
import { ragSelection } from "../../../../lib/train/curate/selection.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import {
  attemptOptions,
  attemptProgress,
  failuresText,
  type OpenedRule,
  openAgent,
  openRule,
  questionsToAsk,
} from "../../open/attempt-options.ts";
import { type Environment, openEnvironment, recipeOf } from "../../options/agent-options.ts";
import { judgeSettings } from "../../options/judge-options.ts";
import { progressLine } from "../../report/progress.ts";

const schema = z.strictObject({
  ...attemptOptions,
  rule: z
    .enum(["rag-r1", "r1-searcher"])
    .default("rag-r1")
    .describe("hard but answerable ones and a share of the easy ones; or by the number of rollouts it takes"),
  solved: z
    .string()
    .optional()
    .describe(
      "of rag-r1: what `data generate` wrote of these questions; else one greedy rollout finds the easy ones",
    ),
  easyShare: z
    .number()
    .min(0)
    .max(1)
    .default(ragSelection.easyShare)
    .describe("of rag-r1: easy ones to take"),
  levels: z
    .array(z.enum(["easy", "medium", "difficult", "unsolved"]))
    .default(["medium", "difficult"])
    .describe("of r1-searcher: which to take"),
  attempts: z
    .int()
    .min(1)
    .optional()
    .describe("rollouts of a question at most (rag-r1: 10, r1-searcher: 30)"),
  temperature: z.number().gt(0).optional().describe("of the rollouts (rag-r1: 1.2, r1-searcher: 1)"),
  concurrency: z.int().min(1).default(256).describe("questions under way at once"),
  seed: z.int().min(0).default(0).describe("fixes every draw"),
  out: z.string().describe("file for the chosen questions; <out>.attempts.jsonl says how each one fared"),
  validation: z.string().optional().describe("file for a random part of them, which is then not in <out>"),
  validationShare: z.number().gt(0).lt(1).default(ragSelection.validationShare).describe("its share"),
});

type Options = z.output<typeof schema>;

/** The command. */
export const dataSelectCommand = command({
  name: "data select",
  summary: "chooses questions to train on: hard but answerable ones, by RAG-R1's or R1-Searcher's rule",
  goesOn: "with the questions that are left",
  options: schema,
  run: async (options, io) => {
    const { out, validation, validationShare: share, seed } = options;
    for (const path of validation === undefined ? [out] : [out, validation]) await checkFilePlace(path);
    const questions = await questionsToAsk(options);
    await using environment = await openEnvironment(options, io);
    await using rule = await openRule(options, io.signal);
    const opened = { environment, rule, io };
    const chosen = await choose(questions, options, opened);
    const parts =
      validation === undefined
        ? { train: chosen.questions, validation: [] }
        : splitQuestions(chosen.questions, { share, seed });
    if (chosen.questions.length === 0) throw noneChosen(chosen, options);
    await writeQuestions(out, parts.train);
    if (validation !== undefined) await writeQuestions(validation, parts.validation);
    report(chosen, { out, train: parts.train.length, validation: parts.validation.length }, io);
  },
});

/** A file of no questions would be refused by whatever reads it next. */
function noneChosen({ counts }: Curriculum, { rule, out }: Options): SeekError {
  const found = Object.entries(counts).map(([name, count]) => `${name} ${count}`);
  const what = rule === "rag-r1" ? "questions that were hard and solved" : "questions of the chosen --levels";
  const kept = `the rollouts stay in ${out}.attempts.jsonl`;
  return new SeekError("ERR_ARGUMENT", `expected ${what}, got ${found.join(", ")}; ${kept}`);
}

interface Opened {
  readonly environment: Environment;
  readonly rule: OpenedRule;
  readonly io: CommandIo;
}

async function choose(questions: readonly Question[], options: Options, opened: Opened): Promise<Curriculum> {
  const { rule, solved, easyShare, levels } = options;
  if (rule === "rag-r1") {
    const { temperature = ragSelection.temperature, attempts = ragSelection.maxAttempts } = options;
    const easy = solved === undefined ? await easyOnes(questions, options, opened) : await idsIn(solved);
    return runAttempts({ ...options, temperature, attempts, part: "attempts" }, opened, (how) =>
      ragCurriculum(questions, { ...how, solved: easy, easyShare }),
    );
  }
  if (solved !== undefined) throw new UsageError("--solved: expected only with --rule rag-r1");
  const { temperature = 1, attempts } = options;
  return runAttempts({ ...options, temperature, attempts, part: "attempts" }, opened, (how) =>
    r1SearcherCurriculum(questions, { ...how, levels }),
  );
}

/** Without the teacher's trajectories, easy is what one greedy rollout answers. */
async function easyOnes(
  questions: readonly Question[],
  options: Options,
  opened: Opened,
): Promise<ReadonlySet<string>> {
  const first = { ...options, temperature: 0, attempts: 1, part: "first" };
  const { outcomes } = await runAttempts(first, opened, (how) => attemptQuestions(questions, how));
  return new Set(outcomes.filter(({ isRight }) => isRight).map(({ id }) => id));
}

async function idsIn(path: string): Promise<ReadonlySet<string>> {
  const ids = new Set<string>();
  for await (const { id, where } of readDemonstrations(path)) {
    if (id === undefined) throw new UsageError(`--solved: ${where} has no id`);
    ids.add(id);
  }
  return ids;
}

interface AttemptOptions extends Options {
  readonly temperature: number;
  /** Names the log. */
  readonly part: string;
}

async function runAttempts<Result>(
  given: AttemptOptions,
  { environment, rule, io }: Opened,
  work: (how: Parameters<typeof attemptQuestions>[1]) => Promise<Result>,
): Promise<Result> {
  const { temperature, attempts, seed, concurrency, out, part } = given;
  const recipe = { ...recipeOf(given, { tools: environment.tools }), sampling: { temperature } };
  await using opened = await openAgent(given, { recipe, search: environment.search, io });
  const progress = progressLine(io);
  const result = await work({
    ...{ agent: opened.agent, isRight: rule.isRight, seed, concurrency, signal: io.signal },
    maxAttempts: attempts,
    onProgress: attemptProgress(progress),
    log: { path: `${out}.${part}.jsonl`, settings: settingsOf(given) },
  });
  progress.end();
  return result;
}

/** What decides the rollouts; which questions are taken then may be chosen anew from the same log. */
function settingsOf(given: AttemptOptions): object {
  const { questions: _, numQuestions, concurrency, out, judge, ...rest } = given;
  const { solved, easyShare, levels, validation, validationShare, part, rule, ...settings } = rest;
  return { ...settings, judge: judgeSettings(judge) };
}

function report(
  { counts, failures }: Curriculum,
  written: { readonly out: string; readonly train: number; readonly validation: number },
  io: CommandIo,
): void {
  for (const [name, count] of Object.entries(counts)) io.write(`${name}: ${count}\n`);
  if (failures.length > 0) io.log(failuresText(failures));
  const held = written.validation > 0 ? `, ${written.validation} for validation` : "";
  io.write(`${written.train} questions in ${written.out}${held}\n`);
  io.result({ ...written, counts, failed: failures.length });
}

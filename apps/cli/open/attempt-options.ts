/** Options of commands that make data of answers: which agent answers, and when it is right. */
import { z } from "zod";
import { SeekError } from "../../../lib/base/errors.ts";
import type { Question } from "../../../lib/data/question.ts";
import { agentPartsOf } from "../../../lib/recipes/plan.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { coverage, exactMatch } from "../../../lib/reward/metrics/metrics.ts";
import type { Agent } from "../../../lib/rollout/agents/agent.ts";
import type { Search } from "../../../lib/search/search.ts";
import type { IsRight } from "../../../lib/train/curate/attempts.ts";
import { type CommandIo, UsageError } from "../command.ts";
import { dataFile } from "../fields.ts";
import { agentOptions, loadQuestions } from "../options/agent-options.ts";
import { judgeOptions, openJudge } from "../options/judge-options.ts";
import { modelOptions } from "../options/model-options.ts";
import type { ProgressLine } from "../report/progress.ts";
import { policiesOf, policyOptions } from "./policies.ts";

/** One of `model` and `endpoint` must be given. */
export const attemptOptions = {
  ...policyOptions,
  model: modelOptions.model.optional(),
  endpointModel: z.string().optional().describe("its model"),
  questions: dataFile(z.string().describe("JSON Lines of {id, question, answers}")),
  ...agentOptions,
  keep: z
    .enum(["em", "cover-em", "judge"])
    .default("em")
    .describe("an answer is right when it is an accepted one, has one inside, or a judge says so"),
  ...judgeOptions,
  numQuestions: z.int().min(1).optional().describe("takes the first ones only"),
};

const attemptSchema = z.object(attemptOptions);

/** What the options say. */
type AttemptOptions = z.output<typeof attemptSchema>;

/** An agent with the model it needs. */
interface OpenedAgent extends AsyncDisposable {
  readonly agent: Agent;
}

/** How and with what the agent is asked. */
interface AskedParts {
  readonly recipe: Recipe;
  readonly search: Search;
  readonly io: CommandIo;
}

/**
 * Opens the model or the endpoint that the options name.
 *
 * @throws UsageError when they name none, both or half of one; ERR_IO, ERR_FORMAT, ERR_ARGUMENT
 */
export async function openAgent(
  { model, endpointModel, ...options }: AttemptOptions,
  { recipe, search, io }: AskedParts,
): Promise<OpenedAgent> {
  const [policy] = policiesOf({
    ...options,
    model: model === undefined ? undefined : [model],
    endpointModel: endpointModel === undefined ? undefined : [endpointModel],
  });
  if (policy === undefined) throw new UsageError("expected one of --model, --endpoint");
  const { searchAgent } = await import("../../../lib/rollout/agents/search-agent.ts");
  const opened = await policy.open(io);
  return {
    agent: searchAgent(agentPartsOf(opened, recipe, search)),
    [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose](),
  };
}

/** The questions to ask. @throws ERR_FORMAT when the file has none, or something else */
export async function questionsToAsk({
  questions: path,
  numQuestions,
}: Pick<AttemptOptions, "questions" | "numQuestions">): Promise<Question[]> {
  const questions = await loadQuestions(path, numQuestions);
  if (questions.length > 0) return questions;
  throw new SeekError("ERR_FORMAT", `${path}: expected at least one question, got none`);
}

/** A rule that is given back when it is done with. */
export interface OpenedRule extends AsyncDisposable {
  readonly isRight: IsRight;
}

/**
 * Opens the rule that the options name.
 *
 * @throws UsageError when a judge is missing, or named and not asked for
 */
export async function openRule(
  { keep, judge }: Pick<AttemptOptions, "keep" | "judge">,
  signal: AbortSignal,
): Promise<OpenedRule> {
  if ((judge !== undefined) !== (keep === "judge")) {
    throw new UsageError("--keep judge and --judge: expected both or neither");
  }
  const opened = await openJudge(judge);
  const measure = keep === "em" ? exactMatch : coverage;
  if (opened === undefined) {
    const isRight: IsRight = ({ answer = "" }, { answers }) => measure(answer, answers) === 1;
    return { isRight, [Symbol.asyncDispose]: async () => {} };
  }
  const isRight: IsRight = async ({ answer = "" }, question) => {
    const verdict = await opened.judge(question, answer, signal);
    return "failure" in verdict ? verdict : verdict.isRight;
  };
  return { isRight, [Symbol.asyncDispose]: () => opened[Symbol.asyncDispose]() };
}

/** Shows on a line how many questions have been answered. */
export function attemptProgress(line: ProgressLine) {
  return ({ done, total, right, failed }: Readonly<Record<"done" | "total" | "right" | "failed", number>>) =>
    line.show(`${done} of ${total} questions, ${right} right${failed > 0 ? `, ${failed} failed` : ""}`);
}

/** What is said of questions without an outcome. */
export function failuresText(failures: readonly { readonly reason: string }[]): string {
  const again = `${failures.length} questions failed and are asked again by the same command`;
  return `${again}; the first: ${failures[0]?.reason}`;
}

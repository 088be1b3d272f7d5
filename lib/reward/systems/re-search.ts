/** The reward of ReSearch (arXiv 2503.19470): the boxed answer's F1 in a well-formed conversation, else what form earns. */
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import type { Question } from "../../data/question.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { boxedIn } from "../../text/boxed.ts";
import { f1 } from "../metrics/metrics.ts";
import { hasWords } from "../metrics/plain-score.ts";
import { countOf, type Spoken, wholeText } from "../reading.ts";

/** A score and why. */
export interface Reasoned {
  readonly score: number;
  readonly reason: string;
}

/** Options of the rewards of ReSearch and ReCall. */
export interface ReSearchRewardOptions {
  /**
   * `code`: 0 for a malformed conversation, whatever its answer. `paper`: the answer's F1 in any form, and 0.1 for form
   * when that is 0. @default "code"
   */
  readonly variant?: "code" | "paper";
  /**
   * As the originals do: wants `endOfText` behind the last turn, and leaves an F1 below 0.1 below what a wrong answer
   * gets; ReSearch's also reads the observations behind the mark of the model's turn. @default false
   */
  readonly faithful?: boolean;
  /** The text of the token that ends a turn; read when faithful. @default "<|im_end|>" */
  readonly endOfText?: string;
}

/** What both rewards take. */
export const reSearchRewardKinds: OptionKinds<ReSearchRewardOptions> = {
  variant: ["code", "paper"],
  faithful: "boolean",
  endOfText: "string",
};

/** What a wrong answer in good form earns. */
const formScore = 0.1;

/**
 * Scores a conversation and says why. By default only the policy's words count: an observation stands for one pair of
 * result tags, and a policy that writes such tags by itself is malformed; the conversation must end with its answer, and a
 * wrong answer without letters or digits earns nothing.
 *
 * @param trajectory - segments and stop reason
 * @param question - its accepted answers
 * @param options - variant and faithfulness
 * @returns 0, 0.1 or the F1
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer>\\boxed{Rome}</answer>" } as const;
 * const { reason } = reSearchScore({ segments: [said], stop: "answer" }, { answers: ["Rome"] });
 * assert.equal(reason, "bad format: <think> or </think> not found");
 */
export function reSearchScore(
  trajectory: Spoken & Pick<Trajectory, "stop">,
  { answers }: Pick<Question, "answers">,
  options: ReSearchRewardOptions = {},
): Reasoned {
  checkOptions("reSearchScore", options, reSearchRewardKinds);
  const { variant = "code", faithful = false, endOfText = "<|im_end|>" } = options;
  if (faithful) return scoreText(modelTurn(wholeText(trajectory)), answers, endOfText);
  const { text, fabricated } = sanitize(trajectory);
  const boxed = boxedIn(answerBlock(text) ?? "");
  const earned = boxed === undefined ? 0 : f1(boxed, answers);
  const fault = fabricated ? "bad format: the policy wrote a result itself" : formFault(text);
  const isOver = trajectory.stop !== "answer" && trajectory.stop !== "eos";
  const reason = fault ?? (isOver ? "over length" : boxed === undefined ? "no boxed answer" : undefined);
  if (reason !== undefined) return { score: variant === "paper" ? earned : 0, reason };
  if (earned === 0 && !hasWords(boxed ?? ""))
    return { score: 0, reason: "an answer without letters or digits" };
  return explain(Math.max(formScore, earned), earned, boxed ?? "");
}

/**
 * The score alone, as a reward.
 *
 * @param options - variant and faithfulness
 * @returns a reward
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<think></think><answer>\\boxed{Rome}</answer>" } as const;
 * const { score } = reSearchScore({ segments: [said], stop: "answer" }, { answers: ["Rome"] });
 * assert.equal(score, 1);
 */
export function reSearchReward(
  options: ReSearchRewardOptions = {},
): (trajectory: Spoken & Pick<Trajectory, "stop">, question: Question) => number {
  checkOptions("reSearchReward", options, reSearchRewardKinds);
  return (trajectory, question) => reSearchScore(trajectory, question, options).score;
}

function scoreText(response: string, answers: readonly string[], endOfText: string): Reasoned {
  const fault = formFault(response);
  if (fault !== undefined) return { score: 0, reason: fault };
  if (!response.endsWith(endOfText)) return { score: 0, reason: "over length" };
  const boxed = boxedIn(answerBlock(response) ?? "");
  if (boxed === undefined) return { score: 0, reason: boxFault };
  const earned = f1(boxed, answers, { faithful: true });
  return explain(earned > 0 ? earned : formScore, earned, boxed);
}

const boxFault = "find box error: argument of type 'NoneType' is not iterable";

function explain(score: number, earned: number, boxed: string): Reasoned {
  if (earned === 0) return { score, reason: `wrong answer but good format: ${boxed}` };
  const shown = Number.isInteger(earned) ? earned.toFixed(1) : String(earned);
  return { score, reason: `correct answer, get f1 score: ${shown}` };
}

/** The first model turn of a decoded conversation, found by its mark in ChatML or in the base template. */
function modelTurn(text: string): string {
  const [, chat] = text.split("<|im_start|>assistant\n");
  return chat ?? text.split("Assistant:")[1] ?? "";
}

function sanitize({ segments }: Spoken): { readonly text: string; readonly fabricated: boolean } {
  const spoken = segments.filter(({ kind }) => kind !== "prompt");
  const isResult = (text: string): boolean => text.includes("<result>") || text.includes("</result>");
  return {
    text: spoken.map(({ kind, text }) => (kind === "policy" ? text : "<result></result>")).join(""),
    fabricated: spoken.some(({ kind, text }) => kind === "policy" && isResult(text)),
  };
}

/** The first rule that a response breaks, in the order of the original; undefined when it breaks none. */
function formFault(text: string): string | undefined {
  const count = (tag: string): number => countOf(text, tag);
  if (count("<think>") !== count("</think>")) return "bad format: <think> </think> not paired";
  if (count("<think>") === 0) return "bad format: <think> or </think> not found";
  if (count("<answer>") !== 1 || count("</answer>") !== 1) {
    return "bad format: <answer> or </answer> not found";
  }
  const fault = searchFault(text);
  if (fault !== undefined) return `bad format: search/result tags are ${fault}`;
  const answer = answerBlock(text);
  if (answer === undefined) return "bad format: </answer> stands before <answer>";
  const isBoxed = answer.includes("\\boxed{") && answer.includes("}");
  return isBoxed ? undefined : "bad format: answer is missing \\boxed{} format";
}

function searchFault(text: string): string | undefined {
  let search = text.indexOf("<search>");
  while (search >= 0) {
    const searchEnd = text.indexOf("</search>", search);
    const result = text.indexOf("<result>", search);
    const resultEnd = text.indexOf("</result>", search);
    if (searchEnd < 0 || result < 0 || resultEnd < 0) return "incomplete";
    if (!(searchEnd < result && result < resultEnd)) return "nested in the wrong order";
    search = text.indexOf("<search>", resultEnd);
  }
  return undefined;
}

function answerBlock(text: string): string | undefined {
  const start = text.indexOf("<answer>");
  const end = text.indexOf("</answer>", start);
  return start < 0 || end < 0 ? undefined : text.slice(start + "<answer>".length, end);
}

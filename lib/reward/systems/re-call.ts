/** The reward of ReCall: the F1 of the boxed answer in a conversation of well-formed turns, and 0.1 for form alone. */
import { checkOptions } from "../../base/check-options.ts";
import type { Question } from "../../data/question.ts";
import { blocksOf, tagsOf } from "../../rollout/grammars/blocks.ts";
import { parseJsonCall } from "../../rollout/tools/json-calls.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { boxedIn } from "../../text/boxed.ts";
import { f1 } from "../metrics/metrics.ts";
import { hasWords } from "../metrics/plain-score.ts";
import { countOf, type Spoken } from "../reading.ts";
import { type Reasoned, type ReSearchRewardOptions, reSearchRewardKinds } from "./re-search.ts";

/** What a wrong answer in good form earns. */
const formScore = 0.1;
/** Begins each turn of the model, and belongs to the prompt. */
const begun = "<think>";

/**
 * Scores a conversation with tools and says why. Only the policy's words count.
 *
 * @param trajectory - segments and stop reason
 * @param question - its accepted answers
 * @param options - variant and faithfulness
 * @returns 0, 0.1 or the F1
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "Known. </think> It is \\boxed{Rome}." } as const;
 * const { score } = reCallScore({ segments: [said], stop: "answer" }, { answers: ["Rome"] });
 * assert.equal(score, 1);
 */
export function reCallScore(
  { segments, stop }: Spoken & Pick<Trajectory, "stop">,
  { answers }: Pick<Question, "answers">,
  options: ReSearchRewardOptions = {},
): Reasoned {
  checkOptions("reCallScore", options, reSearchRewardKinds);
  const { variant = "code", faithful = false, endOfText = "<|im_end|>" } = options;
  const turns = segments.flatMap(({ kind, text }) => (kind === "policy" ? [begun + text] : []));
  const last = turns.at(-1) ?? "";
  const isOver = faithful ? !last.endsWith(endOfText) : stop !== "answer" && stop !== "eos";
  const boxed = boxedIn(withoutThoughts(last));
  const earned = boxed === undefined ? 0 : f1(boxed, answers, { faithful });
  const faults = turns.map((turn) => turnFault(turn, faithful));
  const fault = isOver ? "over length" : (faults.find(Boolean) ?? answerFault(last, boxed));
  if (fault !== undefined) return { score: variant === "paper" ? earned : 0, reason: fault };
  if (!faithful && earned === 0 && !hasWords(boxed ?? "")) {
    return { score: 0, reason: "an answer without letters or digits" };
  }
  const floored = faithful && earned > 0 ? earned : Math.max(formScore, earned);
  const reason = earned === 0 ? `wrong answer but good format: ${boxed}` : `correct answer, f1 ${earned}`;
  return { score: floored, reason };
}

/**
 * The score alone, as a reward.
 *
 * @param options - variant and faithfulness
 * @returns a reward
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "Known. </think> It is \\boxed{Paris}." } as const;
 * const question = { id: "q", question: "where?", answers: ["Rome"] };
 * assert.equal(reCallReward()({ segments: [said], stop: "answer" }, question), 0.1);
 */
export function reCallReward(
  options: ReSearchRewardOptions = {},
): (trajectory: Spoken & Pick<Trajectory, "stop">, question: Question) => number {
  checkOptions("reCallReward", options, reSearchRewardKinds);
  return (trajectory, question) => reCallScore(trajectory, question, options).score;
}

/** The first rule that a turn breaks; undefined when it breaks none. */
function turnFault(turn: string, faithful: boolean): string | undefined {
  const count = (tag: string): number => countOf(turn, tag);
  if (count("<think>") !== count("</think>")) return "bad format: <think> </think> not paired";
  if (count("<tool_call>") !== count("</tool_call>"))
    return "bad format: <tool_call> </tool_call> not paired";
  const calls = blocksOf(turn, tagsOf("tool_call")).map(parseJsonCall);
  const bad = calls.find(({ fault }) => fault !== undefined);
  if (bad) return `bad format: a call is malformed: ${bad.fault}`;
  // A tool without inputs needs none, but the original asks for them.
  const isBare =
    faithful && calls.some(({ text }) => !Object.hasOwn(JSON.parse(text) as object, "arguments"));
  return isBare ? "bad format: a call has no arguments" : undefined;
}

function answerFault(turn: string, boxed: string | undefined): string | undefined {
  if (!turn.includes("\\box")) return "bad format: answer is missing \\boxed{} format";
  return boxed === undefined ? "no boxed answer" : undefined;
}

/** What stands outside of all thoughts, in time linear in the text. */
function withoutThoughts(turn: string): string {
  const [first = "", ...others] = turn.split("<think>");
  const spoken = others.map((part) => {
    const end = part.indexOf("</think>");
    return end < 0 ? part : part.slice(end + "</think>".length);
  });
  return first + spoken.join("");
}

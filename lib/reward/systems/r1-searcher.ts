/** The rewards of R1-Searcher's stages (arXiv 2503.05592), as the paper states them and as the code computes them. */
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import type { Question } from "../../data/question.ts";
import { r1SearcherTags } from "../../rollout/formats/r1-searcher.ts";
import type { Trajectory } from "../../rollout/trajectory.ts";
import { hasWords } from "../metrics/plain-score.ts";
import { type AnswerScores, scoreAnswer } from "../metrics/rules.ts";
import { countOf, policyText, responseText, type Spoken } from "../reading.ts";

/** One of the two stages of training, or reinforcement learning of a base model in a single stage. */
export type R1SearcherStage = 1 | 2 | "zero";

/** Options of the reward. */
export interface R1SearcherRewardOptions {
  readonly stage: R1SearcherStage;
  /**
   * `paper`: stage 1 pays 0.5 for a search and 0.5 for form, whatever the answer; the others pay the answer's F1 and
   * take 2 for bad form. `code`: stage 1 adds 1 for a covered answer and takes 1 for another; stage 2 takes only 1 for
   * form, and `zero` has more rules of form. @default "paper"
   */
  readonly variant?: "paper" | "code";
  /** What an answer earns in stage 2 and `zero`: its F1, or 1 or -1 by exact match or coverage. @default "f1" */
  readonly answer?: "f1" | "em" | "cover";
  /** Counts tags in observations too, and reads the text as one, as the original does. @default false */
  readonly faithful?: boolean;
}

const optionKinds: OptionKinds<R1SearcherRewardOptions> = {
  stage: [1, 2, "zero"],
  variant: ["paper", "code"],
  answer: ["f1", "em", "cover"],
  faithful: "boolean",
};

/** What the reward reads of a trajectory. */
export type SearchedText = Spoken & Pick<Trajectory, "rounds">;

/**
 * R1-Searcher's reward. By default tags are counted in the policy's words alone, a search is one that was made, and a
 * policy that writes documents by itself, or a wrong answer without letters or digits, has bad form.
 *
 * @param options - stage and variant
 * @returns a reward; from 0 to 1 (paper) or -1 to 2 (code) in stage 1, else from the penalty to 1
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "I know.</think><answer> Rome </answer>" } as const;
 * const asked = { id: "q", question: "capital of Italy?", answers: ["Rome"] };
 * assert.equal(r1SearcherReward({ stage: 1 })({ segments: [said], rounds: 0 }, asked), 0.5);
 */
export function r1SearcherReward(
  options: R1SearcherRewardOptions,
): (trajectory: SearchedText, question: Question) => number {
  checkOptions("r1SearcherReward", options, optionKinds, ["stage"]);
  const { stage, variant = "paper", answer: kind = "f1", faithful = false } = options;
  return (trajectory, { answers }) => {
    const text = faithful ? responseText(trajectory) : policyText(trajectory);
    const searches = faithful ? searchesInText(text) : searchesMade(trajectory, text);
    const answer = r1SearcherAnswer(text);
    const scores =
      answer === undefined ? undefined : scoreAnswer(answer, answers, "r1-searcher", { faithful });
    const isSaid = faithful || scores?.em === 1 || hasWords(answer ?? "");
    const isAnswerFormed = isSaid && hasAnswerForm(text);
    if (stage === 1) {
      const isCovered = scores?.coverEm1 === 1;
      const base = variant === "paper" ? 0 : isCovered ? 1 : -1;
      return base + (isAnswerFormed ? 0.5 : 0) + (searches !== undefined && searches > 0 ? 0.5 : 0);
    }
    const isFormed = isAnswerFormed && searches !== undefined && !breaksRules(text, answer, options);
    return earned(scores, kind) - (isFormed ? 0 : penaltyOf(stage, variant));
  };
}

function penaltyOf(stage: R1SearcherStage, variant: "paper" | "code"): number {
  return variant === "code" && stage === 2 ? 1 : 2;
}

/** Without an answer there are no scores. */
function earned(scores: AnswerScores | undefined, kind: "f1" | "em" | "cover"): number {
  if (kind === "f1") return scores?.f1 ?? 0;
  return (kind === "em" ? scores?.em : scores?.coverEm1) === 1 ? 1 : -1;
}

/**
 * The text behind the last `<answer>` up to its closing tag.
 *
 * @param text - what the policy wrote
 * @returns undefined without a complete answer
 */
function r1SearcherAnswer(text: string): string | undefined {
  const start = text.lastIndexOf("<answer>");
  const end = text.indexOf("</answer>", start);
  return start < 0 || end < 0 ? undefined : text.slice(start + "<answer>".length, end);
}

// The prompt ends with <think>, so the policy writes none.
function hasAnswerForm(text: string): boolean {
  const counts = ["<think>", "</think>", "<answer>", "</answer>"].map((tag) => countOf(text, tag));
  return counts.join() === "0,1,1,1";
}

/** How many searches were made; undefined when tags of queries do not match them, or documents were made up. */
function searchesMade({ rounds }: SearchedText, text: string): number | undefined {
  const { query, queryEnd, documents, documentsEnd } = r1SearcherTags;
  const counts = [query, queryEnd].map((tag) => countOf(text, tag));
  const isFabricated = text.includes(documents) || text.includes(documentsEnd);
  return !isFabricated && counts.every((count) => count === rounds) ? rounds : undefined;
}

/** The same from the text alone: seven counts that must agree. */
function searchesInText(text: string): number | undefined {
  const { query, queryEnd, documents, documentsEnd } = r1SearcherTags;
  const marks = [
    query,
    queryEnd,
    documents,
    documentsEnd,
    `${documents}\n`,
    `${documentsEnd}\n\n`,
    `${documents}\n(1)`,
  ];
  const counts = marks.map((mark) => countOf(text, mark));
  return counts.every((count) => count === counts[0]) ? counts[0] : undefined;
}

const chinese = /[\u4e00-\u9fff]/;

function breaksRules(
  text: string,
  answer: string | undefined,
  { stage, variant = "paper" }: R1SearcherRewardOptions,
): boolean {
  const { documents, documentsEnd } = r1SearcherTags;
  const own = text.split(documents).map((part, i) => (i === 0 ? part : afterEnd(part, documentsEnd)));
  if (chinese.test(own.join(""))) return true;
  if (variant === "paper" || stage !== "zero") return false;
  const speaksOfItself = text.includes("Assistant") || text.includes("assistant");
  return speaksOfItself || isRamblingAnswer(answer ?? "");
}

function afterEnd(part: string, end: string): string {
  const at = part.indexOf(end);
  return at < 0 ? "" : part.slice(at + end.length);
}

function isRamblingAnswer(answer: string): boolean {
  const hasTag = Object.values(r1SearcherTags).some((tag) => answer.includes(tag));
  return hasTag || answer.split(/\s+/).filter((word) => word !== "").length > 10;
}

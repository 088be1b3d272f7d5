/** The rewards of Agentic-RAG-R1 that need no judge: points for the use of its actions, and for a right answer. */
import type { Question } from "../data/question.ts";
import { exactMatch } from "./metrics.ts";
import { countOf, policyText, type Spoken } from "./reading.ts";
import { policyAnswer } from "./reward.ts";

/** What a right answer is worth. */
const kAnswerPoints = 3;
const kTagPoints = 0.2;
const kAnswerTagPoints = 0.4;
const kMostSearches = 3;

/**
 * Points for form: 0.2 for each tag of reasoning, backtrack and summary that occurs, 0.2 for each of up to three searches
 * (beyond three only a fine of 0.2 for each further one), 0.4 for exactly one answer. 2.2 at most. It counts what the
 * policy wrote; the original counts the prompt's tags too, which its prompt repeats, so that no answer is ever the only
 * one.
 *
 * @param trajectory - its segments
 * @returns at most 2.2; negative with very many searches
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<reasoning></reasoning><answer></answer>" } as const;
 * assert.equal(agenticFormatReward({ segments: [said] }), 0.8);
 */
export function agenticFormatReward(trajectory: Spoken): number {
  const text = policyText(trajectory);
  const tags = ["reasoning", "backtrack", "summary"].flatMap((name) => [`<${name}>`, `</${name}>`]);
  const used = tags.filter((tag) => text.includes(tag)).length;
  const searches = Math.min(countOf(text, "<search>"), countOf(text, "</search>"));
  const searchTenths = searches <= kMostSearches ? searches : kMostSearches - searches;
  const hasOneAnswer = countOf(text, "<answer>") === 1 && countOf(text, "</answer>") === 1;
  // Summed as whole steps, so that the total has no rounding of its own.
  const steps = used + searchTenths + (hasOneAnswer ? kAnswerTagPoints / kTagPoints : 0);
  return steps / (1 / kTagPoints);
}

/**
 * Three points for a right answer, by exact match instead of a judge.
 *
 * @param trajectory - its segments
 * @param question - its accepted answers
 * @returns 0 or 3
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer> Rome </answer>" } as const;
 * const asked = { id: "q", question: "capital of Italy?", answers: ["Rome"] };
 * assert.equal(agenticAccuracyReward({ segments: [said] }, asked), 3);
 */
export function agenticAccuracyReward(trajectory: Spoken, question: Question): number {
  const answer = policyAnswer(trajectory);
  return answer !== undefined && exactMatch(answer, question.answers) === 1 ? kAnswerPoints : 0;
}

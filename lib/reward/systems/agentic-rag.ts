/** The rewards of Agentic-RAG-R1: a right answer, and points for form, as ours or as the original's table has them. */
import { checkOptions } from "../../base/check-options.ts";
import type { Question } from "../../data/question.ts";
import { agenticBlocks } from "../../rollout/grammars/agentic-grammar.ts";
import { lastAnswer } from "../../rollout/grammars/grammar.ts";
import { exactMatch } from "../metrics/metrics.ts";
import { hasWords } from "../metrics/plain-score.ts";
import { countOf, policyText, type Spoken, wholeText } from "../reading.ts";
import { policyAnswer } from "../reward.ts";

/** Points of a right answer. */
const answerPoints = 3;
const tagPoints = 0.2;
const answerTagPoints = 0.4;
const mostSearches = 3;
const paidTags = ["reasoning", "backtrack", "summary"] as const;

/** One entry of the original's table: so many points, for one or more tags. */
interface AgenticPoints {
  readonly name: string;
  readonly points: number;
  /** The tags that earned them, as they stand in the text. */
  readonly tags: readonly string[];
}

/**
 * The original's table, entry by entry: 0.2 for each tag of reasoning, backtrack and summary that occurs, 0.2 for each of
 * up to three searches (beyond three only a fine of 0.2 for each further one), 0.4 for exactly one answer that says something.
 *
 * @param trajectory - its segments
 * @param options - `faithful` counts the prompt's and the observations' tags too, `@default` false
 * @returns the entries that are not 0
 */
export function agenticPoints(
  trajectory: Spoken,
  { faithful = false }: { readonly faithful?: boolean } = {},
): AgenticPoints[] {
  const text = faithful ? wholeText(trajectory) : policyText(trajectory);
  const used = paidTags
    .flatMap((name) => [`<${name}>`, `</${name}>`])
    .filter((tag) => text.includes(tag))
    .map((tag) => ({ name: tag, points: tagPoints, tags: [tag] }));
  const searches = Math.min(countOf(text, "<search>"), countOf(text, "</search>"));
  const paid = searches <= mostSearches ? searches : mostSearches - searches;
  const isSaid = faithful || hasWords(lastAnswer(text) ?? "");
  const hasOneAnswer = isSaid && countOf(text, "<answer>") === 1 && countOf(text, "</answer>") === 1;
  const rest = [
    { name: "search", points: tagPoints * paid, tags: ["<search>", "</search>"] },
    { name: "answer", points: hasOneAnswer ? answerTagPoints : 0, tags: ["<answer>", "</answer>"] },
  ];
  return [...used, ...rest.filter(({ points }) => points !== 0)];
}

/**
 * Points for form by the original's table: 2.2 at most. It counts what the policy wrote, and no answer without letters or
 * digits; the original counts the prompt's tags too, which its prompt names, so that no answer is ever the only one.
 *
 * @param trajectory - its segments
 * @param options - `faithful` counts as the original does, `@default` false
 * @returns at most 2.2; negative with very many searches
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<reasoning></reasoning><answer>Rome</answer>" } as const;
 * assert.equal(agenticFormatReward({ segments: [said] }), 0.8);
 */
export function agenticFormatReward(
  trajectory: Spoken,
  options: { readonly faithful?: boolean } = {},
): number {
  // Summed as whole steps, so that the total has no rounding of its own.
  checkOptions("agenticFormatReward", options, { faithful: "boolean" });
  const steps = agenticPoints(trajectory, options).map(({ points }) => Math.round(points / tagPoints));
  return steps.reduce((sum, step) => sum + step, 0) / (1 / tagPoints);
}

/** What one turn of the policy earns by its form, and why it earns no more. */
export interface AgenticTurnForm {
  /** The turn's segment, counted among all segments. */
  readonly segment: number;
  readonly points: number;
  /** What it could have earned and did not. */
  readonly lost: number;
  /** @default the turn is as it should be */
  readonly fault?: string;
}

const formPoints = { turns: 0.6, answer: 0.4 } as const;

/**
 * Points for form that no action earns by merely being there: 0.6 by the share of turns that are one sound action or
 * more, where it makes sense, and 0.4 for one answer, at the end. 1 at most, and a bare answer earns it too. A turn is
 * not sound that has words outside of tags, tags inside of tags, an observation of its own making, a backtrack or a
 * summary with nothing before it to take back or to sum up, a search that was made before, or an answer that is not the
 * end.
 *
 * @param trajectory - its segments
 * @param options - `selfSearch` lets the policy write observations, `@default` false
 * @returns one entry for each turn; their points add up to the reward
 * @example
 * const said = (text: string) => ({ kind: "policy", tokens: Int32Array.of(1), text }) as const;
 * const turns = agenticForm({ segments: [said("<backtrack> no </backtrack>"), said("<answer> Rome </answer>")] });
 * assert.deepEqual(turns.map(({ fault }) => fault), ["nothing to take back", undefined]);
 */
export function agenticForm(
  { segments }: Spoken,
  { selfSearch = false }: { readonly selfSearch?: boolean } = {},
): AgenticTurnForm[] {
  const turns = segments.flatMap(({ kind, text }, segment) => (kind === "policy" ? [{ segment, text }] : []));
  const reader = new FormReader(selfSearch);
  const faults = turns.map(({ text }, i) => reader.read(text, i === turns.length - 1));
  const each = turns.length === 0 ? 0 : formPoints.turns / turns.length;
  return turns.map(({ segment }, i) => {
    const fault = faults[i];
    const isAnswer = i === turns.length - 1 && fault === undefined && reader.hasAnswered;
    const points = (fault === undefined ? each : 0) + (isAnswer ? formPoints.answer : 0);
    const most = each + (i === turns.length - 1 ? formPoints.answer : 0);
    return { segment, points, lost: most - points, fault };
  });
}

/** Follows a conversation turn by turn and knows what there is to take back or to sum up. */
class FormReader {
  readonly #selfSearch: boolean;
  readonly #searched = new Set<string>();
  /** Actions in sight that a backtrack could take back, and those that a summary could sum up. */
  #retractable = 0;
  #observed = 0;
  hasAnswered = false;

  constructor(selfSearch: boolean) {
    this.#selfSearch = selfSearch;
  }

  /** The fault of the next turn; undefined when it has none. */
  read(text: string, isLast: boolean): string | undefined {
    // The mark that ends a turn is no word.
    const { blocks, fault } = agenticBlocks(text.replace(/<\|[^<>|]*\|>\s*$/, ""));
    if (blocks.length === 0) return fault ?? "no action";
    const faults = blocks.map(({ tag, content }) => this.#act(tag, content));
    if (this.hasAnswered && !(isLast && blocks.at(-1)?.tag === "answer")) return "an answer before the end";
    return fault ?? faults.find((each) => each !== undefined);
  }

  #act(tag: string, content: string): string | undefined {
    const isEmpty = content === "";
    switch (tag) {
      case "search": {
        const isOld = this.#searched.has(content);
        this.#searched.add(content);
        this.#retractable += 1;
        this.#observed += 1;
        return isEmpty ? "an empty search" : isOld ? "a search that was made before" : undefined;
      }
      case "observation":
        return this.#selfSearch ? undefined : "an observation of its own making";
      case "backtrack": {
        const hadNone = this.#retractable === 0;
        this.#retractable = Math.max(0, this.#retractable - 1);
        this.#observed = Math.max(0, this.#observed - 1);
        return hadNone ? "nothing to take back" : undefined;
      }
      case "summary": {
        const hadNone = this.#observed === 0;
        this.#retractable = 0;
        this.#observed = 0;
        return hadNone ? "nothing to sum up" : undefined;
      }
      case "answer":
        if (this.hasAnswered) return "a second answer";
        this.hasAnswered = true;
        return hasWords(content) ? undefined : "an answer without letters or digits";
      case "reasoning":
        this.#retractable += 1;
        return isEmpty ? "an empty reasoning" : undefined;
      default:
        return isEmpty ? `an empty ${tag}` : undefined;
    }
  }
}

/**
 * The sum of {@link agenticForm}.
 *
 * @param trajectory - its segments
 * @param options - `selfSearch` lets the policy write observations, `@default` false
 * @returns 0 to 1
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer> Rome </answer>" } as const;
 * assert.equal(agenticFormReward({ segments: [said] }), 1);
 */
export function agenticFormReward(
  trajectory: Spoken,
  options: { readonly selfSearch?: boolean } = {},
): number {
  checkOptions("agenticFormReward", options, { selfSearch: "boolean" });
  const turns = agenticForm(trajectory, options);
  if (turns.length === 0) return 0;
  // Counted, so that the total has no rounding of its own.
  const sound = turns.filter(({ fault }) => fault === undefined).length;
  const isAnswered = (turns.at(-1)?.points ?? 0) >= formPoints.answer;
  return (formPoints.turns * sound) / turns.length + (isAnswered ? formPoints.answer : 0);
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
  return answer !== undefined && exactMatch(answer, question.answers) === 1 ? answerPoints : 0;
}

/**
 * 1 when the answer is an accepted one, or names its letter: `B`, `(B)` and `B. insulin` where `B. insulin` is accepted.
 * An answer that only begins with a letter, as `A man`, names none.
 *
 * @param trajectory - its segments
 * @param question - its accepted answers, one of them with a letter before it
 * @returns 0 or 1
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer> (B) </answer>" } as const;
 * const asked = { id: "q", question: "which?", answers: ["insulin", "B. insulin"] };
 * assert.equal(optionReward({ segments: [said] }, asked), 1);
 */
export function optionReward(trajectory: Spoken, question: Question): number {
  const answer = policyAnswer(trajectory);
  if (answer === undefined) return 0;
  const letter = letterOf(answer);
  // A letter decides alone, or a wrong letter before the right words would count.
  if (letter === undefined) return exactMatch(answer, question.answers);
  return question.answers.some((accepted) => letterOf(accepted) === letter) ? 1 : 0;
}

function letterOf(text: string): string | undefined {
  return /^[\s([（【"']*([A-Za-z])(?:\s*$|[.．、:：)\]）】"'])/.exec(text)?.[1]?.toUpperCase();
}

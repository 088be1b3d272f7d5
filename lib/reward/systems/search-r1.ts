/** The rewards of Search-R1: exact match, and its variant that pays for the format too (arXiv 2503.09516, 2505.15117). */
import { checkOptions, type OptionKinds, optionsOf } from "../../base/check-options.ts";
import type { Question } from "../../data/question.ts";
import type { Segment } from "../../rollout/trajectory.ts";
import { coverage, exactMatch } from "../metrics/metrics.ts";
import { type FaithfulOption, hasWords } from "../metrics/plain-score.ts";
import { answerOfWholeText, foundIn, type Spoken, wholeText } from "../reading.ts";
import { policyAnswer } from "../reward.ts";

/** Points for the parts of a conversation's form. */
export interface FormatScores {
  /** Think, then search and read, again and again, then answer, with nothing between. @default 0.2 */
  readonly structure?: number;
  /** An answer that is wrong in a conversation that is not well formed. @default 0.1 */
  readonly final?: number;
  /** An accepted answer stands in what was found, though the answer given is wrong. @default 0 */
  readonly retrieval?: number;
}

const scoreKinds: OptionKinds<FormatScores> = { structure: "number", final: "number", retrieval: "number" };

/** Of an option that is {@link FormatScores}. */
export const formatScoresKind = optionsOf<FormatScores>(scoreKinds);

/**
 * Exact match as RAG-R1 and Search-R1 compute it, over the whole text: a policy without an answer is scored by the
 * prompt's example. `emReward` reads the policy's words only.
 *
 * @param trajectory - its segments
 * @param question - its accepted answers
 * @returns 0 or 1
 */
export function wholeTextEmReward(trajectory: Spoken, question: Question): number {
  const answer = answerOfWholeText(trajectory);
  return answer === undefined ? 0 : exactMatch(answer, question.answers, { faithful: true });
}

/**
 * Exact match with points for form: right and well formed 1, right otherwise `1 - structure`; wrong but well formed
 * `structure`, and `retrieval` more when an accepted answer was found; wrong otherwise `final`. A wrong answer without
 * letters or digits earns nothing.
 *
 * @param scores - points of the parts; `faithful` reads prompt and observations as if the policy had written them, and pays
 *   an empty answer's form, as the original does
 * @returns a reward
 * @example
 * const said = { kind: "policy", tokens: Int32Array.of(1), text: "<answer> Paris </answer>" } as const;
 * const asked = { id: "q", question: "capital of France?", answers: ["Paris"] };
 * assert.equal(formatReward()({ segments: [said] }, asked), 0.8);
 */
export function formatReward(
  scores: FormatScores & FaithfulOption = {},
): (trajectory: Spoken, question: Question) => number {
  checkOptions("formatReward", scores, { ...scoreKinds, faithful: "boolean" });
  const { structure = 0.2, final = 0.1, retrieval = 0, faithful = false } = scores;
  return (trajectory, { answers }) => {
    const answer = faithful ? answerOfWholeText(trajectory) : policyAnswer(trajectory);
    const isRight = answer !== undefined && exactMatch(answer, answers, { faithful }) === 1;
    if (!faithful && !isRight && !hasWords(answer ?? "")) return 0;
    const isFormed = faithful ? isTextWellFormed(wholeText(trajectory)) : isWellFormed(trajectory);
    if (isRight) return isFormed ? 1 : 1 - structure;
    if (isFormed) return structure + (hasFound(trajectory, answers, { faithful }) ? retrieval : 0);
    return answer === undefined ? 0 : final;
  };
}

const moves: Readonly<Record<string, Readonly<Record<string, State>>>> = {
  "<think>": { start: "thinking", informed: "thinking" },
  "</think>": { thinking: "thought" },
  "<search>": { thought: "searching" },
  "</search>": { searching: "searched" },
  "<information>": { searched: "reading" },
  "</information>": { reading: "informed" },
  "<answer>": { thought: "answering" },
  "</answer>": { answering: "end" },
};
type State =
  | "start"
  | "thinking"
  | "thought"
  | "searching"
  | "searched"
  | "reading"
  | "informed"
  | "answering"
  | "end";
const speaking: ReadonlySet<State> = new Set(["thinking", "searching", "reading", "answering"]);

/**
 * Whether a conversation is thought, search and observation in turn, then thought and answer, with white space only
 * between the tags. What an observation says plays no part.
 *
 * @param trajectory - its segments
 * @returns false also when the policy wrote an observation by itself
 */
export function isWellFormed({ segments }: Spoken): boolean {
  const spoken = segments.filter(({ kind }) => kind !== "prompt");
  let state: State | undefined = "start";
  for (const segment of spoken) state = state && afterSegment(state, segment);
  return state === "end";
}

function afterSegment(state: State, { kind, text }: Segment): State | undefined {
  if (kind === "observation") return state === "searched" ? "informed" : undefined;
  const isFabricated = text.includes("<information>") || text.includes("</information>");
  return isFabricated ? undefined : afterText(state, text.replace(endMark, ""));
}

// A model may end its turn behind the answer, as it was taught to.
const endMark = /(?:<\|[^|<>]{1,40}\|>|<\/s>)\s*$/;

function afterText(start: State, text: string): State | undefined {
  let state: State | undefined = start;
  for (const piece of text.split(/(<\/?(?:think|search|information|answer)>)/)) {
    if (state === undefined || piece.trim() === "") continue;
    const move = moves[piece];
    if (move !== undefined) state = move[state];
    else if (!speaking.has(state)) state = undefined;
  }
  return state;
}

const assistantMark = "<|im_start|>assistant";

/** As the original: all of the text behind ChatML's mark of the model's turn; other templates are never well formed. */
function isTextWellFormed(text: string): boolean {
  const start = text.indexOf(assistantMark);
  return start >= 0 && afterText("start", text.slice(start + assistantMark.length)) === "end";
}

/** Whether an accepted answer stands in what was found: the recall of the conversation's searches. */
function hasFound({ segments }: Spoken, accepted: readonly string[], options?: FaithfulOption): boolean {
  return segments.some(
    ({ kind, text }) => kind === "observation" && coverage(foundIn(text), accepted, options) === 1,
  );
}

/**
 * 1 when an accepted answer stands in what the searches found, else 0; a part for a weighted sum.
 *
 * @param trajectory - its segments
 * @param question - its accepted answers
 * @returns 0 or 1
 * @example
 * const found = { kind: "observation", tokens: Int32Array.of(1), text: "Rome is old." } as const;
 * const asked = { id: "q", question: "capital of Italy?", answers: ["Rome"] };
 * assert.equal(retrievalReward({ segments: [found] }, asked), 1);
 */
export function retrievalReward(trajectory: Spoken, question: Question): number {
  return hasFound(trajectory, question.answers) ? 1 : 0;
}

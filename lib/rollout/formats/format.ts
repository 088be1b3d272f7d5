/** The texts around a rollout: the prompt, and what the environment answers. A recipe may replace any of them. */

import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { informationText, observationText, type QueryMode, type TitledText } from "../../text/observation.ts";
import { type Tags, tagsOf } from "../grammars/blocks.ts";
import { type ParseTurn, parseTurn, turnEnds } from "../grammars/grammar.ts";
import type { Memory } from "../memory.ts";
import type { ToolCall } from "../tools/tool-box.ts";

/** What stands around the parts of a turn, for whoever shows it while it comes. */
export interface FormatTags {
  /** Around thoughts of any kind, which may stand without tags too. */
  readonly thoughts: readonly Tags[];
  /** Around queries, or calls. */
  readonly queries: Tags;
  /** Around the answer. */
  readonly answer: Tags;
  /** Whether only a part of what stands there is the answer, which shows at the end of the turn. @default false */
  readonly isPart?: boolean;
}

/** The tags of RAG-R1. */
export const ragTags: FormatTags = {
  thoughts: [tagsOf("think")],
  queries: tagsOf("search"),
  answer: tagsOf("answer"),
};

/** Everything a rollout writes that the policy reads. Plain data and pure functions. */
export interface Format {
  /** One query a turn, or several separated by commas. */
  readonly mode: QueryMode;
  /** Queries beyond this many in one turn are dropped. */
  readonly maxQueries: number;
  /** The message before the user's. @default none */
  readonly system?: string;
  /** The user's message that asks a question. */
  readonly prompt: (question: string) => string;
  /** Begins the model's turn; it belongs to the prompt. @default nothing */
  readonly prefix?: string;
  /** Whether the prompt stands alone, without the model's chat template: for base models. @default false */
  readonly isBare?: boolean;
  /** Whether an observation is a message of its own, in the marks of the model's chat template. @default false */
  readonly isMessage?: boolean;
  /** A turn ends as soon as one of these is complete. */
  readonly turnEnds: readonly string[];
  /** Reads the action out of one turn. */
  readonly parse: ParseTurn;
  /** Where thoughts, queries and the answer stand in a turn; what they are is what `parse` says. @default those of RAG-R1 */
  readonly tags?: FormatTags;
  /** Reads one call of an action, for agents with tools. @default what is asked for is a query of the search */
  readonly readCall?: (text: string) => ToolCall;
  /** The answer to a search; `limit` shortens the documents of one query. */
  readonly observation: (
    queries: readonly string[],
    documents: readonly (readonly TitledText[])[],
    limit: (documents: string) => string,
  ) => string;
  /** The answer to a turn without an action. */
  readonly invalid: string;
  /** The answer to a search that failed or came too late. */
  readonly failure: string;
  /** Ends the observation before the last turn; empty for silence. */
  readonly lastTurn: string;
  /** Makes the conversation a memory stack, each turn one action (`stackParser`). @default everything stays visible */
  readonly memory?: Memory;
}

// Tags are named without their angle brackets where they would make a pair: a pair could be taken for an action.
const invalid = `
That was no valid action. To search, put the query inside a pair of search tags; to finish, put the answer inside \
a pair of answer tags. Try again.
`;
const lastTurn = `
No search is left. Give the answer now.
`;

/**
 * The conversation of RAG-R1: think, search, information and answer tags.
 *
 * @param mode - one query a turn, or several in parallel
 * @param options - `maxQueries` in parallel, which the prompt says too, `@default` 3
 * @returns a format; change it by spreading: `{...ragFormat("multi"), lastTurn: ""}`
 * @example
 * const { prompt } = ragFormat("single");
 * assert.ok(prompt("who?").endsWith("Question: who?\n"));
 */
export function ragFormat(mode: QueryMode, options: { readonly maxQueries?: number } = {}): Format {
  checkArgument("ragFormat: mode", mode, ["single", "multi"]);
  const { maxQueries = 3 } = checkOptions("ragFormat", options, { maxQueries: "number" });
  return {
    mode,
    maxQueries,
    prompt: (question) => ragPrompt(question, mode, maxQueries),
    turnEnds,
    parse: parseTurn,
    observation: (queries, documents, limit) => observationText(queries, documents, mode, limit),
    invalid,
    failure: informationText("The search failed, nothing was found. Search again or answer."),
    lastTurn,
  };
}

// Clauses in the order of RAG-R1's own prompt, so that its models read them as they learned them.
function ragPrompt(question: string, mode: QueryMode, maxQueries: number): string {
  const isMulti = mode === "multi";
  const example = isMulti ? "query_1,query_2" : "query";
  const found = isMulti ? "the top results for each query" : "the top results";
  const most = ["one", "two", "three"][maxQueries - 1] ?? maxQueries;
  const often = `as often as you want${isMulti ? `, with up to ${most} queries each time` : ""}`;
  return [
    "Answer the given question.",
    "Every time you get new information, first reason inside <think> and </think>.",
    "If you find after reasoning that you lack some knowledge, you can call a search engine by",
    `<search> ${example} </search>, and it returns ${found} between <information> and </information>.`,
    `You can search ${often}.`,
    "Once you need no further knowledge, give the answer alone inside <answer> and </answer>, without explanation.",
    "For example, <answer> Beijing </answer>.",
    `Question: ${asQuestion(question)}\n`,
  ].join(" ");
}

/** The question, with a question mark at its end. */
export function asQuestion(question: string): string {
  const trimmed = question.trim();
  return trimmed.endsWith("?") ? trimmed : `${trimmed}?`;
}

/** Reads the action out of what the policy wrote in one turn. */
import type { QueryMode } from "../../text/observation.ts";
import { type Block, blocksOf, firstBlock, type Tags, tagsOf } from "./blocks.ts";

/** Why a turn holds no action. */
export type InvalidReason = "no action" | "no query";

/**
 * What a turn asks for. `end` is where the action's closing tag ends in the text. A turn of kind `end` closes the
 * conversation without asking for anything, as some originals have it.
 */
export type Action =
  | {
      readonly kind: "search";
      readonly queries: readonly string[];
      readonly dropped: number;
      readonly end: number;
    }
  | {
      readonly kind: "answer";
      readonly answer: string;
      /** Where the text behind the opening tag begins. @default unknown */
      readonly start?: number;
      readonly end: number;
    }
  | {
      /** Of agents with a memory stack alone. */
      readonly kind: "plan" | "reasoning" | "backtrack" | "summary";
      readonly content: string;
      readonly start: number;
      readonly end: number;
    }
  | { readonly kind: "end"; readonly answer?: string }
  | { readonly kind: "invalid"; readonly reason: InvalidReason };

/** How `parseTurn` reads queries. */
export interface ParseOptions {
  /** One query, or several separated by commas. @default "single" */
  readonly mode?: QueryMode;
  /** Queries beyond this many are dropped and counted. @default 3 */
  readonly maxQueries?: number;
}

/** Reads the action out of what the policy wrote in one turn, and nothing else (law 9). Never throws. */
export type ParseTurn = (turn: string, options: ParseOptions) => Action;

/** Strings that end a turn: generation stops as soon as one is complete. */
export const turnEnds: readonly string[] = ["</search>", "</answer>"];

const searchTags = tagsOf("search");
const answerTags = tagsOf("answer");

/**
 * The first complete `<search>` or `<answer>` of a turn. Takes time linear in the text, for any text.
 *
 * @param text - what the policy wrote in this turn, and nothing else (law 9)
 * @param options - how queries are read
 * @returns the action, or why there is none
 * @example
 * const action = parseTurn('<search> "Paris, Texas", Dallas </search>', { mode: "multi" });
 * assert.deepEqual(action.kind === "search" && action.queries, ["Paris, Texas", "Dallas"]);
 */
export function parseTurn(text: string, options: ParseOptions = {}): Action {
  return parseActions(text, { search: searchTags, answer: answerTags }, options);
}

/**
 * Like {@link parseTurn}, with other tags.
 *
 * @param text - what the policy wrote in this turn
 * @param tags - around a search and around an answer
 * @param options - how queries are read
 * @returns the action that opens first, or why there is none
 */
export function parseActions(
  text: string,
  tags: { readonly search: Tags; readonly answer: Tags },
  options: ParseOptions = {},
): Action {
  const search = firstBlock(text, tags.search);
  const answer = firstBlock(text, tags.answer);
  if (answer && (!search || answer.start < search.start)) {
    return { kind: "answer", answer: answer.content, end: answer.end };
  }
  return search ? searchAction(search, options) : { kind: "invalid", reason: "no action" };
}

/**
 * The search that stands between tags.
 *
 * @param block - what stands there, and where its closing tag ends
 * @param options - how queries are read
 * @returns the search, or that it asks for nothing
 */
export function searchAction(
  { content, end }: Pick<Block, "content" | "end">,
  { mode = "single", maxQueries = 3 }: ParseOptions,
): Action {
  const asked = mode === "multi" ? splitQueries(content) : [content].filter((query) => query !== "");
  if (asked.length === 0) return { kind: "invalid", reason: "no query" };
  const queries = asked.slice(0, maxQueries);
  return { kind: "search", queries, dropped: asked.length - queries.length, end };
}

/**
 * The last complete answer in one policy text.
 *
 * @param text - what the policy wrote
 * @returns its content, trimmed; undefined when there is none
 * @example
 * assert.equal(lastAnswer("<answer> a </answer> no: <answer> b </answer>"), "b");
 */
export function lastAnswer(text: string): string | undefined {
  return answersIn(text).at(-1);
}

/** Every complete answer in a text, in order, trimmed. */
export function answersIn(text: string): string[] {
  return blocksOf(text, answerTags);
}

/**
 * Splits the content of a multi-query search at its commas. A query that begins with a double quote keeps the
 * commas up to the closing quote; quotes around a whole query are removed.
 *
 * @param content - what stands between the search tags
 * @returns the queries in order, trimmed, without empty ones
 * @example
 * assert.deepEqual(splitQueries("capital of France, Italy"), ["capital of France", "Italy"]);
 */
export function splitQueries(content: string): string[] {
  const queries: string[] = [];
  let start = 0;
  while (start <= content.length) {
    const end = queryEnd(content, start);
    const query = unquote(content.slice(start, end).trim());
    if (query !== "") queries.push(query);
    start = end + 1;
  }
  return queries;
}

function queryEnd(content: string, start: number): number {
  const opening = start + (content.slice(start).match(/^\s*/)?.[0].length ?? 0);
  const closing = content[opening] === '"' ? content.indexOf('"', opening + 1) : -1;
  const comma = content.indexOf(",", closing < 0 ? start : closing + 1);
  return comma < 0 ? content.length : comma;
}

function unquote(query: string): string {
  const isQuoted = query.length >= 2 && query.indexOf('"', 1) === query.length - 1 && query.startsWith('"');
  return isQuoted ? query.slice(1, -1).trim() : query;
}

/** The conversation of R1-Searcher (arXiv 2503.05592): queries and documents inside of one thought, then the answer. */
import { onOneLine, type TitledText } from "../../text/observation.ts";
import { tagsOf } from "../grammars/blocks.ts";
import { type Action, type ParseOptions, parseActions } from "../grammars/grammar.ts";
import { type Format, ragTags } from "./format.ts";

/** Its tags. They are plain text: no token of a vocabulary. */
export const r1SearcherTags = {
  query: "<|begin_of_query|>",
  queryEnd: "<|end_of_query|>",
  documents: "<|begin_of_documents|>",
  documentsEnd: "<|end_of_documents|>",
} as const;

/**
 * The four prompts of its evaluation, v0 to v3 there.
 *
 * - `triple` keywords, each query about a single triple; what it trains on
 * - `subquestions` the question is first taken apart; keywords with tabs between them
 * - `keywords` keywords with tabs between them
 * - `judgement` for questions that are answered with yes or no
 */
export type R1SearcherQueryStyle = "triple" | "subquestions" | "keywords" | "judgement";

/** Options of the conversation. */
interface R1SearcherFormatOptions {
  /** A text for base models, or messages for instruct models. @default "instruct" */
  readonly template?: "base" | "instruct";
  /** What the prompt says of queries and questions. @default "triple" */
  readonly queryStyle?: R1SearcherQueryStyle;
  /** Ends a conversation at every turn without a query, and writes passages as the original's corpus does. @default false */
  readonly faithful?: boolean;
}

const { query, queryEnd, documents, documentsEnd } = r1SearcherTags;
const tags = { search: { open: query, close: queryEnd }, answer: tagsOf("answer") };

const form = `\
First reason about the problem, then give the final answer. The reasoning stands inside <think> and </think> and the \
answer inside <answer> and </answer>, as in "<think> reasoning here </think> <answer> answer here </answer>".`;
const returned = `What is found comes back as ${documents} ...search results... ${documentsEnd}.`;
const inTabs = `write ${query} keyword_1\tkeyword_2\t... ${queryEnd}, with the keywords only and a tab between them.`;
const byTriple = `\
While reasoning you can search for missing facts: write ${query} search query (only keywords) ${queryEnd}. A query must ask \
for a single triple.`;

const rules: Readonly<Record<R1SearcherQueryStyle, string>> = {
  triple: `${form} ${byTriple} ${returned}`,
  subquestions: `\
${form} While reasoning, first take the question apart into smaller ones, and go through them one by one. To search for what \
answers a smaller one, ${inTabs} ${returned}`,
  keywords: `${form} While reasoning you can search for missing facts: ${inTabs} ${returned}`,
  judgement: `\
${form} The question asks for a judgement: the answer is yes or no. Find out what has to be compared first. ${byTriple} \
${returned}`,
};

/**
 * The conversation of R1-Searcher.
 *
 * @param options - template and faithfulness
 * @returns a format; change it by spreading
 * @example
 * const { system, prefix } = r1SearcherFormat();
 * assert.ok(system?.startsWith("You are a helpful assistant.") && prefix === "<think>");
 */
export function r1SearcherFormat({
  template = "instruct",
  queryStyle = "triple",
  faithful = false,
}: R1SearcherFormatOptions = {}): Format {
  const isBase = template === "base";
  return {
    mode: "single",
    maxQueries: 1,
    isBare: isBase,
    system: isBase ? undefined : `You are a helpful assistant. ${rules[queryStyle]}`,
    prompt: isBase
      ? (question) =>
          `The User asks a question, and the Assistant solves it. ${rules[queryStyle]}\n\nUser:${question}\nAssistant: `
      : (question) => question,
    prefix: "<think>",
    tags: { ...ragTags, queries: tags.search },
    turnEnds: faithful ? [queryEnd] : [queryEnd, tags.answer.close],
    parse: faithful ? parseAsOriginal : parseSearcher,
    observation: (_, found, limit) => documentsText(limit(listText(found[0] ?? [], faithful ? "   " : " "))),
    invalid: `
That was neither a query nor an answer. To search, write the query between the marks of a query; to finish, close the \
thought and put the answer inside a pair of answer tags.
`,
    failure: documentsText("The search failed, nothing was found.\n"),
    lastTurn: faithful ? "" : "\nNo search is left. Close the thought and give the answer now.\n",
  };
}

function documentsText(list: string): string {
  return `\n\n${documents}\n${list.endsWith("\n") ? list : `${list}\n`}${documentsEnd}\n\n`;
}

/** The original's corpus has three spaces between a title and its passage. */
function listText(found: readonly TitledText[], gap: string): string {
  if (found.length === 0) return "None";
  const lines = found.map(({ title, text }, i) => `(${i + 1})${title}${title && gap}${text}`);
  return lines.map((line) => `${onOneLine(line)}\n`).join("");
}

/** Queries lose their quotes and line breaks, as the original's retriever wants them. */
function tidy(text: string): string {
  return text.replace(/["']/g, "").split(/\s+/).join(" ").trim();
}

function parseSearcher(turn: string, options: ParseOptions): Action {
  const action = parseActions(turn, tags, options);
  if (action.kind !== "search") return action;
  const queries = action.queries.map(tidy).filter((text) => text !== "");
  return queries.length === 0 ? { kind: "invalid", reason: "no query" } : { ...action, queries };
}

/** As the original: a turn that ends its query asks for what stands behind the last begin; any other turn is the last. */
function parseAsOriginal(turn: string): Action {
  const end = turn.lastIndexOf(queryEnd);
  const start = turn.lastIndexOf(query, end);
  const asked = end < 0 ? "" : tidy(turn.slice(start < 0 ? 0 : start + query.length, end));
  if (asked !== "") return { kind: "search", queries: [asked], dropped: 0, end: end + queryEnd.length };
  const opening = turn.lastIndexOf(tags.answer.open);
  const closing = turn.indexOf(tags.answer.close, opening);
  if (opening < 0 || closing < 0) return { kind: "end" };
  return { kind: "end", answer: turn.slice(opening + tags.answer.open.length, closing).trim() };
}

/** The conversations of RAG-R1 and Search-R1 as their code has them, quirks included. */
import { informationText, type QueryMode, type TitledText } from "../../text/observation.ts";
import { firstBlock, tagsOf } from "../grammars/blocks.ts";
import { type Action, type ParseOptions, turnEnds } from "../grammars/grammar.ts";
import { asQuestion, type Format } from "./format.ts";

/** Whose observations. */
type OriginalSystem = "rag-r1" | "search-r1";

/**
 * The conversation of RAG-R1 or Search-R1 with the bytes of the original's prompts and observations: queries are cut at
 * every comma and not limited, RAG-R1's passages begin with their titles and three spaces as in its corpus, letters beyond
 * ASCII are escaped in parallel observations, a long observation of a
 * single query loses its closing tag, the reply to an invalid turn holds a pair of answer tags, no turn is announced as
 * the last, and a search for nothing is answered with nothing.
 *
 * @param mode - one query a turn, or several in parallel (RAG-R1 only)
 * @param system - whose observations
 * @returns a format
 * @example
 * const { prompt } = originalRagFormat("single", "search-r1");
 * assert.match(prompt("who"), /as many times as your want\..*Question: who\?\n$/);
 */
export function originalRagFormat(mode: QueryMode, system: OriginalSystem): Format {
  return {
    mode,
    maxQueries: Number.POSITIVE_INFINITY,
    prompt: (question) => originalPrompt(question, mode),
    turnEnds,
    parse: parseAsOriginal,
    observation: (queries, documents, limit) => {
      if (system === "search-r1") return limit(searchR1Information(documentsText(documents[0] ?? [])));
      const texts = queries.map((_, i) => kiltText(documents[i] ?? []));
      if (mode === "single") return limit(informationText(texts[0] ?? ""));
      const body = JSON.stringify({ query: queries, documents: texts.map(limit) }, null, 2);
      return escapeNonAscii(informationText(body));
    },
    invalid: `
My previous action is not valid. When I want to search, I should put the query between <search> and </search>. When I \
want to answer, I should put the answer between <answer> and </answer>. I try again.
`,
    failure: "\n<information>\n\n</information>\n",
    lastTurn: "",
  };
}

// The exact bytes of the training data of RAG-R1, and of Search-R1 in the form with one query.
function originalPrompt(question: string, mode: QueryMode): string {
  const isMulti = mode === "multi";
  const [example, found] = isMulti
    ? ["query_1,query_2", "top searched results for each query"]
    : ["query", "top searched results"];
  const often = isMulti ? "you want, using up to three queries each time" : "your want";
  return [
    "Answer the given question.",
    "You must conduct reasoning inside <think> and </think> first every time you get new information.",
    "After reasoning, if you find you lack some knowledge, you can call a search engine by",
    `<search> ${example} </search> and it will return the ${found} between <information> and </information>.`,
    `You can search as many times as ${often}.`,
    "If you find no further external knowledge needed, you can directly provide the answer inside <answer> and",
    "</answer>, without detailed illustrations. For example, <answer> Beijing </answer>.",
    `Question: ${asQuestion(question)}\n`,
  ].join(" ");
}

/**
 * Search-R1's observation with its closing tag kept: only the documents are shortened.
 *
 * @param _ - the query, which is not repeated
 * @param documents - what was found, of which the first query's counts
 * @param limit - shortens the documents
 * @returns text in information tags
 */
export const searchR1Observation: Format["observation"] = (_, documents, limit) => {
  return searchR1Information(limit(documentsText(documents[0] ?? [])));
};

function searchR1Information(documents: string): string {
  return `\n\n<information>${documents.trim()}</information>\n\n`;
}

function documentsText(documents: readonly TitledText[]): string {
  return documents.map(({ title, text }, i) => `Doc ${i + 1}(Title: "${title}") ${text}\n`).join("");
}

/** The passages of RAG-R1's corpus hold their titles. */
function kiltText(documents: readonly TitledText[]): string {
  const contents = documents.map(({ title, text }) => (title === "" ? text : `${title}   ${text}`));
  return contents
    .map((content, i) => `Doc ${i + 1}: ${content}`)
    .join("\n")
    .trim();
}

/** As Python's `json.dumps` writes texts. */
function escapeNonAscii(text: string): string {
  return text.replace(/[\u007f-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

/**
 * The turn is cut behind the first closed search, or else behind the first closed answer; the first block in what is
 * left is the action. Queries are never quoted, and there may be none.
 */
function parseAsOriginal(turn: string, { mode = "single" }: ParseOptions): Action {
  const text = cutTurn(turn);
  const search = firstBlock(text, tagsOf("search"));
  const answer = firstBlock(text, tagsOf("answer"));
  if (answer && (!search || answer.start < search.start)) {
    return { kind: "answer", answer: answer.content, end: answer.end };
  }
  if (!search) return { kind: "invalid", reason: "no action" };
  const asked = mode === "multi" ? search.content.split(",") : [search.content];
  const queries = asked.map((query) => query.trim()).filter((query) => query !== "");
  return { kind: "search", queries, dropped: 0, end: search.end };
}

function cutTurn(turn: string): string {
  for (const end of turnEnds) {
    const at = turn.indexOf(end);
    if (at >= 0) return turn.slice(0, at + end.length);
  }
  return turn;
}

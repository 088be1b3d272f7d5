/** The conversation of Agentic-RAG-R1: plan, reason, search with tools, backtrack, summarise, answer. */
import { onOneLine, type TitledText } from "../../text/observation.ts";
import { blocksOf, tagsOf } from "../grammars/blocks.ts";
import type { Action, ParseTurn } from "../grammars/grammar.ts";
import { stackParser, stackTurnEnds } from "../grammars/stack-grammar.ts";
import { defaultMemory, type Memory } from "../memory.ts";
import { parseBracketCalls } from "../tools/bracket-calls.ts";
import {
  type AgenticLanguage,
  type AgenticTool,
  agenticInstructions,
  agenticReplies,
} from "./agentic-prompts.ts";
import { type Format, ragTags } from "./format.ts";

/** Options of the conversation. */
export interface AgenticFormatOptions {
  /**
   * What a search may ask. With one tool a query goes to the search as it is; with several each keeps its label
   * (`[Wiki_RAG] keywords`), which `labelledSearch` reads.
   *
   * @default Wiki_RAG, an encyclopedia
   */
  readonly tools?: readonly [AgenticTool, ...AgenticTool[]];
  /** Of our wording and of the environment's replies. @default "en" */
  readonly language?: AgenticLanguage;
  /** The policy writes its observations from memory (SSRL), and nothing is searched. @default false */
  readonly selfSearch?: boolean;
  /** Queries of one search, asked at once. @default 3 */
  readonly maxQueries?: number;
  /**
   * A text of one's own, in which `{tools}` stands for the list of tools. With `{question}` in it, it is the whole
   * prompt, without a chat template; otherwise it is the system message. @default ours
   */
  readonly promptText?: string;
  /** Rules of the memory stack. @default every summary condenses all; no answer is doubted */
  readonly memory?: Memory;
  /** Nothing is ever taken out of sight, there is no plan, and a turn without a search is the last. @default false */
  readonly faithful?: boolean;
}

/** The one tool that the original offers. */
const wikiTool: AgenticTool = {
  name: "Wiki_RAG",
  description: "an encyclopedia; give the names of what you look for.",
};

/** Every answer counts, as in the original: a threshold has to be found for each model. */
const memoryOfRecipe: Memory = { ...defaultMemory, stateValue: "none" };

/**
 * The conversation of Agentic-RAG-R1.
 *
 * @param options - tools, language, self-search, wording, memory
 * @returns a format; change it by spreading
 * @example
 * const { parse } = agenticFormat({ tools: [{ name: "Web", description: "the web" }] });
 * const action = parse("<search> [Web] Rome </search>", {});
 * assert.deepEqual(action.kind === "search" && action.queries, ["Rome"]);
 */
export function agenticFormat(options: AgenticFormatOptions = {}): Format {
  const { tools = [wikiTool], language = "en", selfSearch = false, faithful = false } = options;
  const { maxQueries = 3, memory = memoryOfRecipe } = options;
  const replies = agenticReplies[language];
  return {
    mode: maxQueries > 1 ? "multi" : "single",
    maxQueries,
    ...promptOf(options),
    tags: { ...ragTags, thoughts: ["plan", "reasoning", "observation", "backtrack", "summary"].map(tagsOf) },
    turnEnds: turnEndsOf({ selfSearch, faithful }),
    parse: selfSearch ? parseSelf(faithful) : parseSearch(tools, faithful),
    observation: selfSearch
      ? () => ""
      : (queries, found, limit) => foundText(queries, found, limit, replies.nothing),
    invalid: replies.invalid,
    failure: agenticObservation(replies.failure),
    lastTurn: faithful ? "" : replies.lastTurn,
    memory: faithful ? undefined : memory,
  };
}

function promptOf({
  tools = [wikiTool],
  language = "en",
  selfSearch = false,
  maxQueries = 3,
  promptText,
  faithful = false,
}: AgenticFormatOptions): Pick<Format, "system" | "prompt" | "isBare"> {
  const list = tools.map(({ name, description }) => `- [${name}] ${description}`).join("\n");
  const ours = { language, tools, selfSearch, maxQueries, hasMemory: !faithful };
  const text = promptText?.replaceAll("{tools}", () => list) ?? agenticInstructions(ours);
  if (promptText?.includes("{question}")) {
    return { isBare: true, prompt: (question) => text.replaceAll("{question}", () => question.trim()) };
  }
  if (!faithful) return { system: text, prompt: (question) => question.trim() };
  // As the original: messages without a chat template, and the answer begins at once.
  return {
    isBare: true,
    prompt: (question) =>
      `<system instruction>\n${text}\n</system instruction>\n<query>\n${question.trim()}\n</query>`,
  };
}

function turnEndsOf({ selfSearch, faithful }: { selfSearch: boolean; faithful: boolean }): readonly string[] {
  if (faithful) return selfSearch ? ["</answer>"] : ["</search>", "</answer>"];
  const ends = stackTurnEnds();
  return selfSearch ? ends.map((end) => (end === "</search>" ? "</observation>" : end)) : ends;
}

const parseStack = stackParser();

function parseSearch(tools: readonly [AgenticTool, ...AgenticTool[]], faithful: boolean): ParseTurn {
  const names = tools.map(({ name }) => name) as [string, ...string[]];
  const read = faithful ? parseFlat : parseStack;
  return (turn, { maxQueries = 3 }) => {
    // The grammar's own queries are cut at commas or not at all; ours are one a line, each behind the name of a tool.
    const action = read(turn, { mode: "single" });
    if (action.kind !== "search") return action;
    const calls = action.queries.flatMap((content) => parseBracketCalls(content, { fallback: names[0] }));
    const asked = calls.filter(({ input }) => input !== "");
    if (asked.length === 0) return { kind: "invalid", reason: "no query" };
    const queries = asked.slice(0, maxQueries).map(({ name, input }) => {
      return names.length === 1 ? String(input) : `[${name}] ${input}`;
    });
    return { ...action, queries, dropped: asked.length - queries.length };
  };
}

/** A search of the policy itself asks nobody, and what it wrote as an observation is its own. */
function parseSelf(faithful: boolean): ParseTurn {
  const read = faithful ? parseFlat : parseStack;
  return (turn, options) => {
    const action = read(turn, { ...options, mode: "single" });
    return action.kind === "search" ? { ...action, queries: [], dropped: 0 } : action;
  };
}

/** As the original: an answer or a search counts, whatever stands before it; any other turn is the last. */
function parseFlat(turn: string): Action {
  const [answer] = blocksOf(turn, tagsOf("answer"));
  if (answer !== undefined) return { kind: "end", answer };
  const content = blocksOf(turn, tagsOf("search")).at(-1);
  if (content === undefined) return { kind: "end" };
  return { kind: "search", queries: [content], dropped: 0, end: turn.length };
}

/** Puts observation tags around a text. */
function agenticObservation(body: string): string {
  return `\n<observation>\n${body}\n</observation>\n`;
}

function foundText(
  queries: readonly string[],
  found: readonly (readonly TitledText[])[],
  limit: (documents: string) => string,
  nothing: string,
): string {
  const texts = queries.map((_, i) => limit(documentsText(found[i] ?? []) || nothing).trim());
  if (texts.length === 1) return agenticObservation(texts[0] ?? nothing);
  const paths = texts.map(
    (text, i) => `[path${i + 1}] ${onOneLine(queries[i] ?? "")}\n${text}\n[/path${i + 1}]`,
  );
  return agenticObservation(paths.join("\n"));
}

function documentsText(documents: readonly TitledText[]): string {
  // What a tool says has no title, and lines of its own.
  return documents
    .map(({ title, text }) => (title === "" ? text : `- ${title}: ${onOneLine(text)}`))
    .join("\n");
}

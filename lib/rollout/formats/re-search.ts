/** The conversation of ReSearch (arXiv 2503.19470): think, search and result tags in one flow, the answer in a box. */
import { boxedIn } from "../../text/boxed.ts";
import type { TitledText } from "../../text/observation.ts";
import { blocksOf, tagsOf } from "../grammars/blocks.ts";
import { type Action, type ParseOptions, parseTurn, turnEnds } from "../grammars/grammar.ts";
import { type Format, ragTags } from "./format.ts";

/** For base models one text; for instruct models a system message. */
export type ReSearchTemplate = "base" | "instruct";

/** Options of the conversation. */
interface ReSearchFormatOptions {
  /** @default "instruct" */
  readonly template?: ReSearchTemplate;
  /**
   * Instead of our own wording: the system message, or for `base` a text in which `{prompt}` stands for the question and
   * doubled braces for single ones. Released models want the wording they were trained with. @default ours
   */
  readonly templateText?: string;
  /** Ends a conversation at every turn without a search, and searches for nothing when asked to. @default false */
  readonly faithful?: boolean;
}

const rules = `\
First think the problem through step by step, then give the answer. While thinking you may use the wikipedia search \
tool whenever a fact is missing. Thoughts stand inside <think> and </think>, the answer inside <answer> and </answer>. \
To search, write the query inside <search> and </search>; what is found comes back inside <result> and </result>. For \
example, <think> I will work this out. </think> <search> first query </search> <result> what was found </result> \
<think> One more fact is missing. </think> <search> second query </search> <result> what was found </result> <think> \
Now I know. </think> <answer> The final answer is \\[ \\boxed{the answer} \\] </answer>. The last part of the answer \
holds the exact final answer inside \\boxed{}.`;

const baseText = `The following is a conversation between a User, who asks, and an Assistant, who solves. \
${rules.replaceAll("{", "{{").replaceAll("}", "}}")} User: {prompt}. Assistant:`;
const instructText = `You are a helpful assistant who answers questions with the help of a search tool. ${rules}`;

/**
 * The conversation of ReSearch.
 *
 * @param options - template and faithfulness
 * @returns a format; change it by spreading
 * @example
 * const { prompt } = reSearchFormat({ template: "base" });
 * assert.ok(prompt("who").endsWith("User: who. Assistant:"));
 */
export function reSearchFormat({
  template = "instruct",
  templateText,
  faithful = false,
}: ReSearchFormatOptions = {}): Format {
  const isBase = template === "base";
  const text = templateText ?? (isBase ? baseText : instructText);
  return {
    mode: "single",
    maxQueries: 1,
    isBare: isBase,
    system: isBase ? undefined : text,
    prompt: isBase ? (question) => fill(text, question) : (question) => question,
    tags: { ...ragTags, isPart: true },
    turnEnds: faithful ? ["</search>"] : turnEnds,
    parse: faithful ? parseAsOriginal : parseBoxed,
    observation: (_, documents, limit) => resultText(limit(documentsText(documents[0] ?? []))),
    invalid: `
That was neither a search nor an answer. To search, put the query inside a pair of search tags; to finish, put the \
answer in a box inside a pair of answer tags.
`,
    failure: resultText("The search failed, nothing was found."),
    lastTurn: faithful ? "" : "\nNo search is left. Give the answer now.\n",
  };
}

/** As Python's `format` with one name: doubled braces are braces. */
function fill(text: string, question: string): string {
  return text.replace(/\{\{|\}\}|\{prompt\}/g, (part) => (part === "{prompt}" ? question : part.slice(1)));
}

function resultText(body: string): string {
  return ` <result>\n${body}\n</result>`;
}

function documentsText(documents: readonly TitledText[]): string {
  return documents
    .map(({ title, text }) => `"${title}"\n${text}\n\n`)
    .join("")
    .trim();
}

/** The answer is what stands in its last box; without one it is empty. */
function parseBoxed(turn: string, options: ParseOptions): Action {
  const action = parseTurn(turn, options);
  return action.kind === "answer" ? { ...action, answer: (boxedIn(action.answer) ?? "").trim() } : action;
}

/**
 * As the original reads a turn: one that closes a search asks for what stands behind the last opening tag, or for nothing
 * when there is none; any other turn ends the conversation, and its first answer's box is the answer.
 */
function parseAsOriginal(turn: string): Action {
  const end = turn.lastIndexOf("</search>");
  if (end < 0) {
    const [answer] = blocksOf(turn, tagsOf("answer"));
    const boxed = answer === undefined ? undefined : boxedIn(answer);
    return boxed === undefined ? { kind: "end" } : { kind: "end", answer: boxed };
  }
  const start = turn.lastIndexOf("<search>", end);
  const query = start < 0 ? "" : turn.slice(start + "<search>".length, end).trim();
  return { kind: "search", queries: [query], dropped: 0, end: end + "</search>".length };
}

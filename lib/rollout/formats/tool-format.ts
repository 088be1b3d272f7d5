/** The conversation of ReCall: think, call tools in JSON, read their results in the next message, answer in a box. */
import { checkOptions } from "../../base/check-options.ts";
import { boxedIn } from "../../text/boxed.ts";
import type { TitledText } from "../../text/observation.ts";
import { blocksOf, tagsOf } from "../grammars/blocks.ts";
import type { Action, ParseOptions } from "../grammars/grammar.ts";
import { functionLines, parseJsonCall } from "../tools/json-calls.ts";
import type { Tool } from "../tools/tool.ts";
import { type Format, ragTags } from "./format.ts";

/** Options of the conversation. */
export interface ToolFormatOptions {
  /**
   * Instead of our wording: the system message, in which `{tools}` stands for the functions, one JSON object a line.
   * Released models want the wording they were trained with. @default ours
   */
  readonly templateText?: string;
  /** Calls of one turn; those beyond are dropped and counted. @default 8 */
  readonly maxCalls?: number;
  /**
   * Ends a conversation at every turn without a call, announces no last turn, drops no call, reads calls in thoughts too
   * and leaves tags in results as they are. @default false
   */
  readonly faithful?: boolean;
}

const systemText = `\
You are a helpful assistant who solves tasks with the help of tools. First think, inside <think> and </think>. Where \
something is missing, call tools after your thoughts: for each call write a JSON object with the tool's name and its \
arguments inside <tool_call> and </tool_call>, for example
<tool_call>{"name": "a tool", "arguments": {"an input": "its value"}}</tool_call>
Calls of one turn run at the same time, and may be several. Their results come back inside <tool_response> and \
</tool_response> in the next message. Once nothing is missing, give the answer after your thoughts, with the exact \
final answer inside \\boxed{}. These are the tools, with the JSON schemas of their arguments:
{tools}`;

const callTags = tagsOf("tool_call");
/** Begins the model's turn. */
const thought = "<think>";
const thoughtEnd = "</think>";

/**
 * The conversation of ReCall.
 *
 * @param tools - what may be called
 * @param options - wording, most calls of a turn, faithfulness
 * @returns a format for agents with these tools; change it by spreading
 * @example
 * const { parse } = toolFormat([calculatorTool()]);
 * const action = parse('</think>\\n<tool_call>{"name": "calculator", "arguments": {"expression": "6*7"}}</tool_call>', {});
 * assert.equal(action.kind, "search");
 */
export function toolFormat(tools: readonly Tool[], options: ToolFormatOptions = {}): Format {
  checkOptions("toolFormat", options, { templateText: "string", maxCalls: "number", faithful: "boolean" });
  const { templateText = systemText, maxCalls = 8, faithful = false } = options;
  return {
    mode: "multi",
    maxQueries: faithful ? Number.POSITIVE_INFINITY : maxCalls,
    system: templateText.replaceAll("{tools}", () => functionLines(tools)),
    prompt: (question) => question,
    prefix: thought,
    isMessage: true,
    tags: { ...ragTags, queries: callTags, answer: { open: "\\boxed{", close: "}" }, isPart: true },
    turnEnds: [],
    parse: (turn, options) => parseCalls(turn, options, faithful),
    readCall: parseJsonCall,
    observation: (calls, results, limit) =>
      responsesText(calls, results, faithful ? limit : (text) => inert(limit(text))),
    invalid: `\
That was neither a call nor an answer. To call a tool, put JSON inside a pair of tool_call tags; to finish, put the \
answer inside \\boxed{}.`,
    failure: "<tool_response>\nThe tools failed.\n</tool_response>\n",
    lastTurn: faithful ? "" : "No call is left. Give the answer now, inside \\boxed{}.\n",
  };
}

/** Calls first; a turn without any answers in its last box. What stands in thoughts is neither. */
function parseCalls(turn: string, { maxQueries = 8 }: ParseOptions, faithful: boolean): Action {
  const said = faithful ? turn : afterThoughts(turn);
  const calls = blocksOf(said, callTags);
  if (calls.length > 0) {
    const queries = calls.slice(0, maxQueries);
    const end = turn.lastIndexOf(callTags.close) + callTags.close.length;
    return { kind: "search", queries, dropped: calls.length - queries.length, end };
  }
  const answer = boxedIn(afterThoughts(turn))?.trim();
  if (faithful) return answer === undefined ? { kind: "end" } : { kind: "end", answer };
  if (answer === undefined) return { kind: "invalid", reason: "no action" };
  return { kind: "answer", answer, end: turn.length };
}

/** The prompt has begun the first thought. */
function afterThoughts(turn: string): string {
  const end = turn.lastIndexOf(thoughtEnd);
  return end < 0 ? turn : turn.slice(end + thoughtEnd.length);
}

/** Other people's text cannot end its envelope, nor begin one: its tags of calls and responses lose their brackets. */
function inert(text: string): string {
  return text.replace(/<(\/?tool_(?:call|response))>/g, "[$1]");
}

function responsesText(
  calls: readonly string[],
  results: readonly (readonly TitledText[])[],
  limit: (documents: string) => string,
): string {
  return calls
    .map((call, i) => {
      const result = (results[i] ?? []).map(({ text }) => text).join("\n");
      return `<tool_response>${call}\n${limit(result)}\n</tool_response>\n`;
    })
    .join("");
}

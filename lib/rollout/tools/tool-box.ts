/** The tools of an agent, and how the calls of one turn are run: all at once, each with a deadline, each failing alone. */
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { beforeDeadline } from "../../base/deadline.ts";
import { messageOf, SeekError } from "../../base/errors.ts";
import type { TitledText } from "../../text/observation.ts";
import { shown, type Tool, type ToolOutput } from "./tool.ts";

/** One call, as a grammar read it from the policy's words. */
export interface ToolCall {
  readonly name: string;
  /** An object, or the bare text of a grammar without JSON. */
  readonly input: unknown;
  /** As the policy wrote it. */
  readonly text: string;
  /** Why it cannot be read; it is answered and counted, but not run. */
  readonly fault?: string;
}

/**
 * Why a call has no result.
 *
 * - `malformed` it could not be read; `unknown tool`, `invalid input` it asks for what there is not
 * - `too many calls` it stands behind the most calls that a turn may have
 * - `timed out`, `failed` the tool's; `aborted` nobody waits any more
 */
export type ToolFailureKind =
  | "malformed"
  | "unknown tool"
  | "invalid input"
  | "too many calls"
  | "timed out"
  | "failed"
  | "aborted";

/** A failed call. */
export interface ToolFailure {
  readonly kind: ToolFailureKind;
  /** What went wrong, for people. */
  readonly message: string;
}

/** What the model reads of a call, whether it failed or not. */
export interface ToolResult {
  readonly text: string;
  readonly documents?: readonly TitledText[];
  readonly failure?: ToolFailure;
}

/** Who else may end the calls of a turn. */
export interface RunToolsOptions {
  /** A shorter deadline than the box's. Milliseconds. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Tools that are called together. */
export interface ToolBox {
  readonly tools: readonly Tool[];
  /** Runs the calls of one turn; it never rejects, and gives one result per call in their order. */
  readonly run: (calls: readonly ToolCall[], options?: RunToolsOptions) => Promise<ToolResult[]>;
}

/** Bounds of the calls of one turn. */
export interface ToolBoxOptions {
  /** A call that takes longer has failed (law 7). Milliseconds. @default 10_000 */
  readonly timeoutMs?: number;
  /** Calls of one turn beyond this many are answered, but not run. @default 8 */
  readonly maxCalls?: number;
  /** Characters of a result that are kept. @default 20_000 */
  readonly maxChars?: number;
}

/**
 * Puts tools into a box. The calls of one turn run at the same time; a slow, failing or unknown one costs the others
 * nothing.
 *
 * @param tools - with names of their own
 * @param options - deadline and bounds
 * @returns the box, which holds nothing that must be closed
 * @throws ERR_ARGUMENT when two tools have one name
 * @example
 * const { run } = toolBox([calculatorTool()]);
 * const [product, none] = await run([
 *   { name: "calculator", input: { expression: "6 * 7" }, text: "" },
 *   { name: "oracle", input: {}, text: "" },
 * ]);
 * assert.equal(product.text, "42");
 * assert.equal(none.failure.kind, "unknown tool");
 */
export function toolBox(tools: readonly Tool[], options: ToolBoxOptions = {}): ToolBox {
  checkArgument("toolBox: tools", tools, "list");
  checkOptions("toolBox", options, { timeoutMs: "number", maxCalls: "number", maxChars: "number" });
  const { timeoutMs = 10_000, maxCalls = 8, maxChars = 20_000 } = options;
  const byName = new Map(tools.map((each) => [each.name, each]));
  if (byName.size < tools.length) {
    const twice = tools.find((each) => byName.get(each.name) !== each)?.name;
    throw new SeekError("ERR_ARGUMENT", `tools: expected names of their own, got ${twice} twice`);
  }
  const run: ToolBox["run"] = (calls, { timeoutMs: sooner = timeoutMs, signal } = {}) => {
    const limits = { timeoutMs: Math.min(timeoutMs, sooner), maxChars, signal };
    return Promise.all(
      calls.map(async (call, i) => {
        if (i >= maxCalls) return failed("too many calls", `a turn may have ${maxCalls} calls`);
        return runCall(byName, call, limits);
      }),
    );
  };
  return { tools, run };
}

interface CallLimits {
  readonly timeoutMs: number;
  readonly maxChars: number;
  readonly signal?: AbortSignal;
}

async function runCall(
  tools: ReadonlyMap<string, Tool>,
  { name, input, fault }: ToolCall,
  limits: CallLimits,
): Promise<ToolResult> {
  if (fault !== undefined) return failed("malformed", fault);
  const tool = tools.get(name);
  if (tool === undefined) {
    const names = [...tools.keys()].join(", ");
    return failed("unknown tool", `there is no tool ${shown(name)}; the tools are ${names}`);
  }
  const { timeoutMs, maxChars } = limits;
  const outcome = await beforeDeadline((signal) => bindAndRun(tool, input, signal), limits);
  switch (outcome.kind) {
    case "done":
      return "invalid" in outcome.result
        ? failed("invalid input", `${name}: ${outcome.result.invalid}`)
        : bounded(outcome.result, maxChars);
    case "failed":
      return failed("failed", `${name}: ${messageOf(outcome.error)}`.slice(0, maxChars));
    case "timed out":
      return failed("timed out", `${name}: no result within ${timeoutMs} ms`);
    case "aborted":
      return failed("aborted", `${name}: aborted`);
  }
}

async function bindAndRun(
  tool: Tool,
  input: unknown,
  signal: AbortSignal,
): Promise<ToolOutput | { readonly invalid: string }> {
  const bound = tool.bind(typeof input === "string" ? inputFromText(tool, input) : input);
  return "invalid" in bound ? bound : bound.run({ signal });
}

// Bare text may itself be the JSON of an input.
function inputFromText(tool: Tool, text: string): unknown {
  if (text.trimStart().startsWith("{")) {
    try {
      return JSON.parse(text);
    } catch {
      // It only looked like JSON.
    }
  }
  return tool.fromText(text.trim());
}

function failed(kind: ToolFailureKind, message: string): ToolResult {
  return { text: `Error: ${message}`.toWellFormed(), failure: { kind, message } };
}

/** The output with no more than so many characters, none of them half. */
function bounded({ text, documents }: ToolOutput, maxChars: number): ToolResult {
  const kept = text.length <= maxChars ? text : text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, "");
  return { text: kept.toWellFormed(), documents };
}

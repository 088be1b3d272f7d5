/** The call grammar of ReCall: a JSON object of a tool's name and its arguments. */
import { shown, type Tool } from "./tool.ts";
import type { ToolCall } from "./tool-box.ts";

/**
 * Reads one call of the form `{"name": "search", "arguments": {"query": "..."}}`. Never throws.
 *
 * @param text - what the policy wrote between its tags, and nothing else (law 9)
 * @returns the call; one that cannot be read says why
 * @example
 * const { name, input } = parseJsonCall('{"name": "search", "arguments": {"query": "Rome"}}');
 * assert.deepEqual([name, input], ["search", { query: "Rome" }]);
 */
export function parseJsonCall(text: string): ToolCall {
  const value = parseObject(text);
  if (typeof value === "string") return { name: "", input: undefined, text, fault: value };
  const { name, arguments: input = {} } = value;
  if (typeof name !== "string" || name === "") {
    return { name: "", input, text, fault: `name: expected the name of a tool, got ${shown(name)}` };
  }
  const isObject = typeof input === "object" && input !== null && !Array.isArray(input);
  // Some models write the arguments as a text that holds JSON; the box reads that.
  if (isObject || typeof input === "string") return { name, input, text };
  return { name, input, text, fault: `arguments: expected an object, got ${shown(input)}` };
}

/** The object, or what is wrong. */
function parseObject(text: string): Readonly<Record<string, unknown>> | string {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return value as Record<string, unknown>;
    }
    return `expected a JSON object with name and arguments, got ${shown(value)}`;
  } catch (error) {
    return `expected JSON, got ${shown(text)}: ${(error as Error).message}`;
  }
}

/**
 * Tools as models read functions: one JSON object a line.
 *
 * @param tools - of a box
 * @returns as many lines
 */
export function functionLines(tools: readonly Tool[]): string {
  return tools
    .map(({ name, description, inputSchema: parameters }) =>
      JSON.stringify({ type: "function", function: { name, description, parameters } }),
    )
    .join("\n");
}

/** The call grammar of Agentic-RAG-R1: `[Name]: text`, one call a line. */
import { checkOptions } from "../../base/check-options.ts";
import { shown, type Tool } from "./tool.ts";
import type { ToolCall } from "./tool-box.ts";

/** How calls without a name are read. */
export interface BracketOptions {
  /** The tool of a text that names none. @default such a text cannot be read */
  readonly fallback?: string;
}

const opening = /^\[([A-Za-z0-9_.-]{1,64})\]:?/;

/**
 * Reads calls of the form `[Name]: text` or `[Name] text`. Each call begins a line and goes on to the next one that
 * begins so; double quotes around its whole text are removed. Never throws; takes time linear in the text.
 *
 * @param content - what the policy wrote between its tags, and nothing else (law 9)
 * @param options - what becomes of a text without a name
 * @returns the calls in order; none when there is nothing but space
 * @example
 * const calls = parseBracketCalls('[Wiki_RAG]: "Marie Curie"\n[KG_RAG] radium -> Paris');
 * assert.deepEqual(calls.map(({ name, input }) => [name, input]), [["Wiki_RAG", "Marie Curie"], ["KG_RAG", "radium -> Paris"]]);
 */
export function parseBracketCalls(content: string, options: BracketOptions = {}): ToolCall[] {
  const { fallback } = checkOptions("parseBracketCalls", options, { fallback: "string" });
  const pieces: string[][] = [];
  for (const line of content.split("\n").map((each) => each.trim())) {
    if (pieces.length === 0 || opening.test(line)) pieces.push([line]);
    else pieces.at(-1)?.push(line);
  }
  return pieces.flatMap((lines) => readCall(lines.join("\n").trim(), fallback));
}

/**
 * Reads one call of that form.
 *
 * @param text - of one call; line breaks in it are blanks
 * @param options - what becomes of a text without a name
 * @returns the call; one that cannot be read says why
 * @example
 * const { name, input } = parseBracketCall("6 * 7", { fallback: "calculator" });
 * assert.deepEqual([name, input], ["calculator", "6 * 7"]);
 */
export function parseBracketCall(text: string, options: BracketOptions = {}): ToolCall {
  const { fallback } = checkOptions("parseBracketCall", options, { fallback: "string" });
  const [call] = readCall(text.replaceAll("\n", " ").trim(), fallback);
  return call ?? { name: "", input: "", text, fault: "expected a call, got nothing" };
}

function readCall(text: string, fallback: string | undefined): ToolCall[] {
  if (text === "") return [];
  const match = opening.exec(text);
  const name = match?.[1] ?? fallback;
  const input = unquoted(text.slice(match?.[0].length ?? 0).trim());
  if (name === undefined) {
    return [{ name: "", input, text, fault: `expected [Name] before the input, got ${shown(text)}` }];
  }
  if (input === "") return [{ name, input, text, fault: `expected an input behind [${name}], got nothing` }];
  return [{ name, input, text }];
}

function unquoted(text: string): string {
  const isQuoted = text.startsWith('"') && text.length >= 2 && text.indexOf('"', 1) === text.length - 1;
  return isQuoted ? text.slice(1, -1).trim() : text;
}

/**
 * The description of tools for a model that calls them with bare text: for each what it does, and what its text may be.
 *
 * @param tools - of a box
 * @returns names with descriptions
 * @example
 * const [{ description }] = bracketTools([calculatorTool()]);
 * assert.match(description, /^Calculates the value of an arithmetic expression\. Give expression \(/);
 */
export function bracketTools(
  tools: readonly Tool[],
): { readonly name: string; readonly description: string }[] {
  return tools.map(({ name, description, inputSchema }) => {
    const properties = Object.entries(
      (inputSchema.properties ?? {}) as Record<string, { description?: unknown }>,
    );
    const inputs = properties.map(([key, { description: about }]) =>
      typeof about === "string" ? `${key} (${about})` : key,
    );
    const [main, ...others] = inputs;
    if (main === undefined) return { name, description };
    const json = others.length === 0 ? "" : `, or JSON with it and any of ${others.join(", ")}`;
    return { name, description: `${description} Give ${main}${json}.` };
  });
}

/** Functions that a model may call, as OpenAI's chat completions name them. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";
import type { FunctionDefinition, ToolChoice } from "../../reply/reply.ts";
import { officialObject } from "./official.ts";

/** A name that a model can write and a client can tell apart. */
export const toolName = lazySchema((z) => z.string().regex(/^[\w.-]{1,128}$/));

/** JSON schema of arguments, which are an object. */
export const toolParameters = lazySchema((z) =>
  z.record(z.string(), z.unknown()).refine(({ type }) => type === undefined || type === "object", {
    path: ["type"],
    error: "expected a schema of the type object",
  }),
);

const onlyFunctions = { error: "expected function: models here call functions" };

/** `tools` of chat completions. */
export const chatTools = lazySchema((z) =>
  listField(
    officialObject({
      type: z.literal("function", onlyFunctions),
      function: officialObject({
        name: toolName(),
        description: z.string().optional(),
        parameters: toolParameters().optional(),
        strict: z.boolean().optional(),
      }),
    }),
  ),
);

const namedFunction = lazySchema((z) =>
  officialObject({
    type: z.literal("function", onlyFunctions),
    function: officialObject({ name: toolName() }),
  }),
);

/** `tool_choice` of chat completions. */
export const chatToolChoice = lazySchema((z) =>
  z.union([
    z.enum(["auto", "none", "required"]),
    namedFunction(),
    officialObject({
      type: z.literal("allowed_tools"),
      allowed_tools: officialObject({
        mode: z.enum(["auto", "required"]),
        tools: listField(namedFunction(), { min: 1, max: 128 }),
      }),
    }),
  ]),
);

/**
 * Arguments of a call that comes back, as JSON text. A call that never said any has none, and so has one that the limit of
 * tokens cut off: what is left of it is no JSON.
 */
export const callArguments = lazySchema((z) =>
  z
    .string()
    .optional()
    .transform((text = "") => (isJson(text) ? text : "{}")),
);

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Arguments of a function that says nothing of them. */
const noParameters = { type: "object", properties: {} };

/** A function as checked bodies have it. */
interface GivenFunction {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly parameters?: FunctionDefinition["parameters"] | null | undefined;
  readonly strict?: boolean | null | undefined;
}

/** A function with what it left out. */
export function definitionOf({ name, description, parameters, strict }: GivenFunction): FunctionDefinition {
  return {
    name,
    description: description ?? undefined,
    parameters: parameters ?? noParameters,
    strict: strict ?? false,
  };
}

/** The functions of a checked body. */
export function toolsOf(
  tools: z.output<ReturnType<typeof chatTools>> | undefined,
): readonly FunctionDefinition[] {
  return (tools ?? []).map((tool) => definitionOf(tool.function));
}

/** @throws Refusal for a choice that no tool meets */
export function checkToolChoice(choice: ToolChoice, tools: readonly FunctionDefinition[]): ToolChoice {
  if (choice === "auto" || choice === "none") return choice;
  if (tools.length === 0) throw refused(["tool_choice"], "expected tools to choose from, got none");
  if (choice === "required" || tools.some(({ name }) => name === choice.name)) return choice;
  const known = tools.map(({ name }) => name).join(", ");
  throw refused(["tool_choice"], `expected one of ${known}, got ${choice.name}`);
}

/** The tools that may be called, and whether one must be. */
export interface ToolUse {
  readonly tools: readonly FunctionDefinition[];
  readonly toolChoice: ToolChoice;
}

/** Of all tools the model learns the allowed ones alone, so that it cannot call another. @throws Refusal for an unknown one */
export function allowedTools(
  tools: readonly FunctionDefinition[],
  allowed: readonly string[],
  toolChoice: ToolChoice,
): ToolUse {
  for (const name of allowed) checkToolChoice({ name }, tools);
  return { tools: tools.filter(({ name }) => allowed.includes(name)), toolChoice };
}

/** The tools and the choice of a checked body. */
export function toolUseOf({
  tools: given,
  tool_choice: choice = "auto",
}: {
  readonly tools?: z.output<ReturnType<typeof chatTools>> | undefined;
  readonly tool_choice?: z.output<ReturnType<typeof chatToolChoice>> | undefined;
}): ToolUse {
  const tools = toolsOf(given);
  if (typeof choice === "string") return { tools, toolChoice: checkToolChoice(choice, tools) };
  if (choice.type === "function") {
    return { tools, toolChoice: checkToolChoice({ name: choice.function.name }, tools) };
  }
  const { mode, tools: allowed } = choice.allowed_tools;
  return allowedTools(
    tools,
    allowed.map((tool) => tool.function.name),
    mode,
  );
}

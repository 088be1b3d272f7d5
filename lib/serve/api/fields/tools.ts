/** Functions that a model may call, as OpenAI's chat completions name them. */
import type { z } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import { refused } from "../../http/refusal.ts";
import type { FunctionDefinition, ToolChoice } from "../../reply/reply.ts";

/** A name that a model can write and a client can tell apart. */
export const toolName = lazySchema((z) => z.string().regex(/^[\w.-]{1,128}$/));

/** JSON schema of arguments, which are an object. */
export const toolParameters = lazySchema((z) =>
  z.record(z.string(), z.unknown()).refine(({ type }) => type === undefined || type === "object", {
    path: ["type"],
    error: "expected a schema of the type object",
  }),
);

/** `tools` of chat completions. */
export const chatTools = lazySchema((z) =>
  z.array(
    z.strictObject({
      type: z.literal("function"),
      function: z.strictObject({
        name: toolName(),
        description: z.string().nullish(),
        parameters: toolParameters().nullish(),
        strict: z.boolean().nullish(),
      }),
    }),
  ),
);

/** `tool_choice` of chat completions. */
export const chatToolChoice = lazySchema((z) =>
  z.union([
    z.enum(["auto", "none", "required"]),
    z.strictObject({ type: z.literal("function"), function: z.strictObject({ name: toolName() }) }),
  ]),
);

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
  tools: z.output<ReturnType<typeof chatTools>> | null | undefined,
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

/** The choice of a checked body. */
export function toolChoiceOf(
  choice: z.output<ReturnType<typeof chatToolChoice>> | null | undefined,
  tools: readonly FunctionDefinition[],
): ToolChoice {
  const chosen = choice ?? "auto";
  return checkToolChoice(typeof chosen === "string" ? chosen : { name: chosen.function.name }, tools);
}

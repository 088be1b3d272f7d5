/** A tool: one definition is what the model reads, what its input must be, and what is run. */

import type { z } from "zod";
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { zod } from "../../base/on-first-use.ts";
import type { TitledText } from "../../text/observation.ts";

/** A JSON schema, as plain data. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What a tool found: the text that the model reads, and the documents in it where it has any. */
export interface ToolOutput {
  readonly text: string;
  readonly documents?: readonly TitledText[];
}

/** What a running tool is given besides its input. */
export interface ToolContext {
  /** Fires at the deadline, or when nobody waits for the result any more. */
  readonly signal: AbortSignal;
}

/** A call whose input has been checked, or what is wrong with that input. */
export type BoundCall =
  | { readonly run: (context: ToolContext) => Promise<ToolOutput> }
  | { readonly invalid: string };

/** Something that an agent may call. */
export interface Tool {
  readonly name: string;
  /** What it does and when to use it, for the model. */
  readonly description: string;
  /** Of the input, an object. */
  readonly inputSchema: JsonSchema;
  /** Turns the bare text of a call into an input, for grammars without JSON. */
  readonly fromText: (text: string) => unknown;
  /** Checks an input. */
  readonly bind: (input: unknown) => BoundCall;
}

/** What makes a tool. */
export interface ToolDefinition<Input extends z.ZodObject> {
  /** Letters, digits, `_`, `-` and `.`, at most 64; the model calls it by this name. */
  readonly name: string;
  readonly description: string;
  /** The properties of its input, best with a `describe` each. */
  readonly input: Input;
  /** Turns bare text into an input. @default fills the property that is required first, or the first one */
  readonly fromText?: (text: string) => unknown;
  /** Does it; what it throws is shown to the model. A string is an output without documents. */
  readonly run: (
    input: z.output<Input>,
    context: ToolContext,
  ) => Promise<ToolOutput | string> | ToolOutput | string;
}

const definitionKinds: OptionKinds<ToolDefinition<z.ZodObject>> = {
  name: "string",
  description: "string",
  input: "object",
  fromText: "function",
  run: "function",
};

const namePattern = /^[A-Za-z0-9_.-]{1,64}$/;

/**
 * Makes a tool from one typed definition.
 *
 * @param definition - name, description, input schema, function
 * @returns a tool for `toolBox`
 * @throws ERR_ARGUMENT for a name that no model could call, ERR_FORMAT for a schema that JSON Schema cannot express
 * @example
 * const weather = tool({
 *   name: "weather",
 *   description: "Tells today's weather of a city.",
 *   input: z.object({ city: z.string().describe("name of the city") }),
 *   run: async ({ city }) => `It is sunny in ${city}.`,
 * });
 * const [{ text }] = await toolBox([weather]).run([{ name: "weather", input: { city: "Rome" }, text: "" }]);
 * assert.equal(text, "It is sunny in Rome.");
 */
export function tool<Input extends z.ZodObject>(definition: ToolDefinition<Input>): Tool {
  checkOptions("tool", definition, definitionKinds, ["name", "description", "input", "run"]);
  const { name, description, input, run } = definition;
  checkToolName(name);
  const inputSchema = schemaOf(name, input);
  return {
    name,
    description,
    inputSchema,
    fromText: definition.fromText ?? ((text) => firstProperty(inputSchema, text)),
    bind: (given) => {
      const parsed = input.safeParse(given);
      if (!parsed.success)
        return { invalid: parsed.error.issues.map((each) => explain(each, given)).join("; ") };
      return {
        run: async (context) => {
          const output = await run(parsed.data, context);
          if (typeof output === "string") return { text: output };
          if (typeof output?.text === "string") return output;
          throw new SeekError("ERR_ARGUMENT", `expected an output, got ${shown(output)}`);
        },
      };
    },
  };
}

/** @throws ERR_ARGUMENT for a name that no model could call */
function checkToolName(name: string): void {
  if (namePattern.test(name)) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `tool: expected a name of at most 64 letters, digits, "_", "-" and ".", got ${JSON.stringify(name)}`,
  );
}

function schemaOf(name: string, input: z.ZodObject): JsonSchema {
  try {
    const { $schema: _, ...schema } = zod().toJSONSchema(input, { io: "input" });
    return schema;
  } catch (cause) {
    const why = (cause as Error).message;
    throw new SeekError("ERR_FORMAT", `tool ${name}: its input has no JSON schema: ${why}`, { cause });
  }
}

/**
 * An input whose main property is a text: the first that is required, or the first of all.
 *
 * @param schema - of the input
 * @param text - the value
 * @returns the input
 */
export function firstProperty(schema: JsonSchema, text: string): Record<string, unknown> {
  const required = Array.isArray(schema.required) ? schema.required : [];
  const [name = "input"] = [...required, ...Object.keys(schema.properties ?? {})];
  return { [String(name)]: text };
}

/** An issue as a sentence that names the field, what was expected and what was given. */
function explain({ path, message }: z.core.$ZodIssue, given: unknown): string {
  const field = path.length === 0 ? "input" : path.map(String).join(".");
  const expected = message.replace(/^Invalid input: /, "").replace(/, received .*$/, "");
  return `${field}: ${expected}, got ${shown(valueAt(given, path))}`;
}

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | null)?.[key], given);
}

/** A value as short JSON. */
export function shown(value: unknown, maxChars = 200): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}...`;
}

/** Command-line flags made from a zod schema, and the values they were given. */
import { Option } from "commander";
import { z } from "zod";

/** One option as a flag. */
interface Field {
  readonly key: string;
  readonly type: "boolean" | "number" | "string";
  readonly isList: boolean;
  readonly help: string;
  readonly choices: readonly string[];
  readonly default: unknown;
}

/** The part of JSON Schema that options use. */
interface JsonType {
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly items?: JsonType;
  readonly description?: string;
  readonly default?: unknown;
}

/**
 * The flags of a schema: `maxTokens` becomes `--max-tokens`; a boolean that is on by default becomes `--no-...`;
 * lists may be repeated, and numbers in lists separated by commas.
 */
export function flagsOf(schema: z.ZodObject): Option[] {
  return fieldsOf(schema).map(flagOf);
}

/** The options that are lists. */
export function listKeys(schema: z.ZodObject): string[] {
  return fieldsOf(schema)
    .filter(({ isList }) => isList)
    .map(({ key }) => key);
}

/**
 * The name of an option as it is typed.
 *
 * @example
 * assert.equal(flagName("maxTokens"), "--max-tokens");
 */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

function fieldsOf(schema: z.ZodObject): Field[] {
  const { properties = {} } = z.toJSONSchema(schema, { io: "input" }) as {
    properties?: Record<string, JsonType>;
  };
  return Object.entries(properties).map(([key, property]) => {
    const value = property.type === "array" ? (property.items ?? {}) : property;
    const type = value.type === "integer" ? "number" : value.type;
    return {
      key,
      type: type === "boolean" || type === "number" ? type : "string",
      isList: property.type === "array",
      help: property.description ?? "",
      choices: value.enum ?? [],
      default: property.default,
    };
  });
}

function flagOf(field: Field): Option {
  const name = field.default === true ? flagName(field.key).replace("--", "--no-") : flagName(field.key);
  if (field.type === "boolean") return new Option(name, field.help);
  const value = field.choices.length > 0 ? field.choices.join("|") : field.type === "number" ? "n" : "text";
  const option = new Option(`${name} <${value}>`, helpOf(field));
  return option.argParser((given: string, before: unknown) => {
    if (!field.isList) return parseValue(field, given);
    const items = field.type === "number" ? given.split(",") : [given];
    const earlier = Array.isArray(before) ? before : [];
    return [...earlier, ...items.map((item) => parseValue(field, item))];
  });
}

function helpOf({ help, isList, type, default: fallback }: Field): string {
  const repeat = isList ? (type === "number" ? " (separated by commas)" : " (repeatable)") : "";
  return `${help}${repeat}${fallback === undefined ? "" : ` (default: ${JSON.stringify(fallback)})`}`;
}

// What is no number stays text, for the schema to refuse by name.
function parseValue({ type }: Field, given: string): unknown {
  if (type !== "number") return given;
  const number = Number(given);
  return given.trim() === "" || Number.isNaN(number) ? given : number;
}

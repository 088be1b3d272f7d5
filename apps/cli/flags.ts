/** Command-line flags made from a schema of options. */
import { Option } from "commander";
import type { z } from "zod";
import { isValues, merged, parseAssignments } from "./assignments.ts";
import { type Field, fieldsOf } from "./fields.ts";

/**
 * The flags of a schema: `maxTokens` becomes `--max-tokens`; a boolean that is on by default becomes `--no-...`; lists may
 * be repeated, and numbers in lists separated by commas; an object is `key=value,...`.
 */
export function flagsOf(schema: z.ZodObject): Option[] {
  return fieldsOf(schema).map(flagOf);
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

/** What stands behind a flag or a key, in a word. */
export function valueName({ type, choices, head }: Field): string {
  if (type === "object") return head === undefined ? "key=value,..." : `${head},key=value,...`;
  if (choices.length > 0) return choices.join("|");
  return type === "number" ? "n" : "text";
}

function flagOf(field: Field): Option {
  const name = field.default === true ? flagName(`no-${field.key}`) : flagName(field.key);
  if (field.type === "boolean") return new Option(name);
  return new Option(`${name} <value>`).argParser((given: string, before: unknown) => {
    if (field.type === "object") {
      return merged(isValues(before) ? before : {}, parseAssignments(given, field.head, flagName(field.key)));
    }
    if (!field.isList) return parseValue(field, given);
    const items = field.type === "number" ? given.split(",") : [given];
    const earlier = Array.isArray(before) ? before : [];
    return [...earlier, ...items.map((item) => parseValue(field, item))];
  });
}

// What is no number stays text, for the schema to refuse by name.
function parseValue({ type }: Field, given: string): unknown {
  if (type !== "number") return given;
  const number = Number(given);
  return given.trim() === "" || Number.isNaN(number) ? given : number;
}

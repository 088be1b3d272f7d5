/** Arguments as elements of XML, as grammars: texts as they are, all else as JSON that meets its schema. */
import { SeekError } from "../../../../lib/base/errors.ts";
import {
  jsonSchemaGrammar,
  jsonSchemaRule,
} from "../../../../lib/engine/constraint/json-schema/json-schema.ts";
import {
  literal,
  type Rules,
  refuse,
  type Schema,
} from "../../../../lib/engine/constraint/json-schema/rules.ts";
import { typesOf } from "../parameter-calls.ts";

/** What arguments are held to, and where. */
interface Held {
  /** What cannot be held to is refused; else it is any text. */
  readonly strict: boolean;
  readonly rules: Rules;
}

const end = "\n</parameter>\n";
const annotations: ReadonlySet<string> = new Set([
  ...["additionalProperties", "title", "description", "$schema", "$id", "$comment"],
]);
/** Keywords that say nothing of a text. */
const textKeywords: ReadonlySet<string> = new Set(["type", "title", "description", "default", "examples"]);

/**
 * The elements of an object's properties, in their order.
 *
 * @param parameters - schema of an object; without one elements are any
 * @throws ERR_ARGUMENT naming what is strict and cannot be held to in this form
 */
export function parameterRules(parameters: object | undefined, { strict, rules }: Held): string {
  const {
    type = "object",
    properties,
    required = [],
    $defs,
    definitions,
    ...rest
  } = (parameters ?? {}) as Schema;
  const other = Object.keys(rest).find((key) => !annotations.has(key));
  if (strict && (type !== "object" || other !== undefined)) refused("jsonSchema", other ?? "type");
  if (properties === undefined) return anyElements(rules);
  const names = new Set(required as readonly string[]);
  const shared = Object.entries({ $defs, definitions }).filter(([, value]) => value !== undefined);
  const elements = Object.entries(properties as Readonly<Record<string, Schema>>).map(([name, schema]) => {
    const path = `jsonSchema.properties.${name}`;
    if (!/^[^\s<>"]{1,256}$/.test(name)) refuse(path, "a name with spaces or marks cannot be written");
    const whole = { ...schema, ...Object.fromEntries(shared) };
    const value = valueRule(whole, { types: typesOf(parameters, name), strict, path, rules });
    const element = rules.add("element", `${literal(`<parameter=${name}>\n`)} ${value}`);
    return names.has(name) ? element : `(${element})?`;
  });
  return elements.join(" ");
}

const mark = "</parameter>";

/** Any text up to the end of its element; the mark has no second "<", so that a text that leaves it begins it anew or not at all. */
function anyText(rules: Rules): string {
  const text = rules.once("text-0", (start) => {
    const after = (length: number): string => {
      const char = mark[length] as string;
      const next =
        length + 1 === mark.length ? '""' : rules.once(`text-${length + 1}`, () => after(length + 1));
      if (length === 0) return `"<" ${next} | [^<] ${start}`;
      const again = `"<" ${rules.once("text-1", () => "")}`;
      return `${literal(char)} ${next} | ${again} | [^<${char}] ${start}`;
    };
    return after(0);
  });
  return `${text} "\\n"`;
}

function anyElements(rules: Rules): string {
  const element = `"<parameter=" [A-Za-z0-9_.-]{1,64} ">\\n" ${anyText(rules)}`;
  return rules.repeat(element, 0, Number.POSITIVE_INFINITY);
}

interface HeldValue extends Held {
  readonly types: ReadonlySet<string>;
  readonly path: string;
}

/** A value and the end of its element. */
function valueRule(schema: Schema, { types, strict, path, rules }: HeldValue): string {
  if (types.size > 0 && !types.has("string")) return jsonRule(schema, { strict, rules });
  const { $defs: _, definitions: __, ...own } = schema;
  const values = own.const === undefined ? own.enum : [own.const];
  if (Array.isArray(values) && values.every((value) => typeof value === "string" && !value.includes("<")))
    return `${rules.either(values.map((value) => literal(value)))} ${literal(end)}`;
  const bound = Object.keys(own).find((key) => !textKeywords.has(key));
  if (strict && (types.size !== 1 || bound !== undefined)) refused(path, bound ?? "type");
  return anyText(rules);
}

function jsonRule(schema: Schema, { strict, rules }: Held): string {
  try {
    // In rules of its own first: a refusal leaves them incomplete.
    jsonSchemaGrammar(schema);
    return `${jsonSchemaRule(schema, rules)} ${literal(end)}`;
  } catch (error) {
    if (strict || !(error instanceof SeekError)) throw error;
    return anyText(rules);
  }
}

function refused(path: string, keyword: string): never {
  return refuse(path, `"${keyword}" is not held to in calls of this form`);
}

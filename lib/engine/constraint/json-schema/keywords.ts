/** Which keywords of JSON Schema the grammar holds to; all others but annotations are refused by name. */
import { refuse, type Schema } from "./rules.ts";

/** What says nothing of the text. */
const annotations: ReadonlySet<string> = new Set([
  ...[
    "$schema",
    "$id",
    "id",
    "$comment",
    "$defs",
    "definitions",
    "title",
    "description",
    "default",
    "examples",
  ],
  ...["deprecated", "readOnly", "writeOnly", "contentEncoding", "contentMediaType"],
]);

const numberKeywords = ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] as const;

const keywords = {
  string: ["minLength", "maxLength", "pattern", "format"],
  // OpenAPI's formats of numbers say how wide they are, and nothing of the text.
  number: [...numberKeywords, "format"],
  integer: [...numberKeywords, "format"],
  boolean: [],
  null: [],
  array: ["items", "prefixItems", "additionalItems", "minItems", "maxItems"],
  object: ["properties", "required", "additionalProperties", "propertyNames"],
} as const;

/** A type of JSON Schema. */
export type TypeName = keyof typeof keywords;

/** Keywords that a schema says all by. */
const forms = ["$ref", "const", "enum", "anyOf", "oneOf", "allOf"] as const;

/** What a schema is held to by. */
export type Form = (typeof forms)[number] | "type" | "any";

/** @throws ERR_ARGUMENT for a keyword that would not be held to */
export function formOf(schema: Schema, path: string): Form {
  const given = Object.keys(schema).filter((key) => !annotations.has(key));
  const form = forms.find((each) => schema[each] !== undefined);
  if (form !== undefined) {
    const beside = form === "const" || form === "enum" ? ["type"] : [];
    const wrong = given.find((key) => key !== form && !beside.includes(key));
    if (wrong === undefined) return form;
    refuse(path, `"${wrong}" beside "${form}" is not held to by the grammar`);
  }
  const types = typesOf(schema, path);
  const known = types.flatMap((type): readonly string[] => keywords[type]);
  for (const key of given) {
    if (key === "type" || known.includes(key)) continue;
    const isKnown = Object.values(keywords).some((list: readonly string[]) => list.includes(key));
    if (types.length === 0 && isKnown) refuse(path, `"${key}" needs a "type" beside it`);
    const expected = types.length === 0 ? ["type", ...forms] : known;
    const hint = expected.length === 0 ? "" : `; expected one of ${[...new Set(expected)].join(", ")}`;
    refuse(path, `"${key}" is not held to by the grammar${hint}`);
  }
  return types.length === 0 ? "any" : "type";
}

/** The types that a schema names, none where it has no such keyword. @throws ERR_ARGUMENT for an unknown one */
export function typesOf({ type }: Schema, path: string): TypeName[] {
  if (type === undefined) return [];
  const types = Array.isArray(type) ? type : [type];
  const wrong = types.find((each) => typeof each !== "string" || !Object.hasOwn(keywords, each));
  if (wrong === undefined && types.length > 0) return types as TypeName[];
  return refuse(
    path,
    `unknown type ${JSON.stringify(wrong ?? type)}; expected one of ${Object.keys(keywords).join(", ")}`,
  );
}

/** What a list begins with and what follows; draft 7, as zod writes it for many clients, has other names for both. */
export function itemsOf({ prefixItems, items, additionalItems }: Schema) {
  const isDraft7 = Array.isArray(items) && prefixItems === undefined;
  return isDraft7
    ? { first: items, firstKey: "items", others: additionalItems, othersKey: "additionalItems" }
    : { first: prefixItems, firstKey: "prefixItems", others: items, othersKey: "items" };
}

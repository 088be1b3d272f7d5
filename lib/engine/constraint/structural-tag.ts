/** Structural tags: forms of text made of marks, free text and parts that are held to something. */
import { jsonSchemaGrammar } from "./json-schema/json-schema.ts";
import { refuse } from "./json-schema/rules.ts";

const types: ReadonlySet<unknown> = new Set([
  ...["const_string", "any_text", "json_schema", "regex", "grammar", "sequence", "or", "tag"],
  ...["triggered_tags", "tags_with_separator"],
]);

/**
 * A structural tag in which schemas are grammars of every text that meets them, and of no other.
 *
 * @param tag - as xgrammar documents it, with or without `{"type": "structural_tag", "format": ...}` around it
 * @returns its JSON
 * @throws ERR_ARGUMENT for a type that is none of xgrammar 0.1.27's, and for a schema that cannot be held to
 */
export function structuralTagText(tag: object): string {
  const { type, format } = tag as Readonly<Record<string, unknown>>;
  const inner = type === "structural_tag" || type === undefined ? format : tag;
  return JSON.stringify({ type: "structural_tag", format: heldTo(inner, "structuralTag") });
}

function heldTo(format: unknown, path: string): unknown {
  if (typeof format !== "object" || format === null) return refuse(path, "expected an object");
  const { type, json_schema: schema, elements, tags, content, ...rest } = format as Record<string, unknown>;
  if (!types.has(type))
    return refuse(path, `type: expected one of ${[...types].join(", ")}, got ${JSON.stringify(type)}`);
  if (type === "json_schema") {
    if (typeof schema !== "object" || schema === null) return refuse(path, "json_schema: expected an object");
    return { type: "grammar", grammar: jsonSchemaGrammar(schema) };
  }
  const listed = (list: unknown, key: string): unknown =>
    Array.isArray(list) ? list.map((each, i) => heldTo(each, `${path}.${key}[${i}]`)) : list;
  return {
    type,
    ...rest,
    ...(elements === undefined ? {} : { elements: listed(elements, "elements") }),
    ...(tags === undefined ? {} : { tags: listed(tags, "tags") }),
    ...(content === undefined ? {} : { content: heldTo(content, `${path}.content`) }),
  };
}

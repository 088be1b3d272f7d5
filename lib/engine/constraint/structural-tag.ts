/** Structural tags: forms of text made of marks, free text and parts that are held to something. */
import { choice, type Expression, nothing, type Rule, repeat, sequence, text } from "./grammar/expression.ts";
import { freeText } from "./grammar/free-text.ts";
import { readGrammar } from "./grammar/gbnf.ts";
import { jsonSchemaGrammar } from "./json-schema/json-schema.ts";
import { refuse } from "./json-schema/rules.ts";
import { regexGrammar } from "./regex.ts";

/** A part of a structural tag, as it was given. */
type Format = Readonly<Record<string, unknown>>;

/** Texts that end what is being read; none where the whole text ends with it. */
type Ends = readonly string[];

/**
 * The expression of a structural tag.
 *
 * @param tag - as xgrammar documents it, with or without `{"type": "structural_tag", "format": ...}` around it
 * @throws ERR_ARGUMENT for a type that is none of xgrammar 0.1.27's, and for a part that cannot be held to
 */
export function readStructuralTag(tag: object): Expression {
  const { type, format } = tag as Format;
  return read(type === "structural_tag" || type === undefined ? format : tag, "structuralTag", []);
}

/** What a part stands for, its end included. */
type Reader = (format: Format, path: string, ends: Ends) => Expression;

const types: Readonly<Record<string, Reader>> = {
  const_string: (format, path, ends) => ended(text(stringOf(format, "value", path)), ends),
  any_text: (_, __, ends) => freeText(marksOf(ends), ends.length === 0),
  json_schema: (format, path, ends) => {
    const schema = format.json_schema;
    if (typeof schema !== "object" || schema === null) return refuse(path, "json_schema: expected an object");
    return ended(readGrammar(jsonSchemaGrammar(schema)), ends);
  },
  regex: (format, path, ends) => ended(readGrammar(regexGrammar(stringOf(format, "pattern", path))), ends),
  grammar: (format, path, ends) => ended(readGrammar(stringOf(format, "grammar", path)), ends),
  sequence: (format, path, ends) => {
    const elements = listOf(format, "elements", path);
    return sequence(
      elements.map((each, i) => read(each, `${path}.elements[${i}]`, i === elements.length - 1 ? ends : [])),
    );
  },
  or: (format, path, ends) =>
    choice(listOf(format, "elements", path).map((each, i) => read(each, `${path}.elements[${i}]`, ends))),
  tag: (format, path, ends) => ended(tagOf(format, path, ""), ends),
  triggered_tags: triggered,
  tags_with_separator: separated,
};

function read(format: unknown, path: string, ends: Ends): Expression {
  if (typeof format !== "object" || format === null) return refuse(path, "expected an object");
  const { type } = format as Format;
  if (typeof type === "string" && Object.hasOwn(types, type))
    return (types[type] as Reader)(format as Format, path, ends);
  const expected = `expected one of ${Object.keys(types).join(", ")}`;
  return refuse(path, `type: ${expected}, got ${JSON.stringify(type)}`);
}

const marksOf = (ends: Ends) => ends.map((end) => ({ text: end, rest: nothing }));

function ended(inside: Expression, ends: Ends): Expression {
  return ends.length === 0 ? inside : sequence([inside, choice(ends.map((end) => text(end)))]);
}

function stringOf(format: Format, key: string, path: string): string {
  const value = format[key];
  return typeof value === "string" ? value : refuse(path, `${key}: expected a string`);
}

function listOf(format: Format, key: string, path: string): readonly unknown[] {
  const value = format[key];
  return Array.isArray(value) && value.length > 0
    ? value
    : refuse(path, `${key}: expected a list with something in it`);
}

/** A tag without what of its beginning was read before. */
function tagOf(tag: Format, path: string, begun: string): Expression {
  const { end = "" } = tag;
  const ends = Array.isArray(end) ? end : [end];
  if (!ends.every((each) => typeof each === "string"))
    return refuse(path, "end: expected a string or several");
  const begin = text(stringOf(tag, "begin", path).slice(begun.length));
  return sequence([begin, read(tag.content, `${path}.content`, ends.includes("") ? [] : ends)]);
}

function tagsOf(format: Format, path: string): (readonly [Format, string])[] {
  return listOf(format, "tags", path).map((tag, i) => {
    const place = `${path}.tags[${i}]`;
    if (typeof tag !== "object" || tag === null) return refuse(place, "expected an object");
    return [tag as Format, place] as const;
  });
}

/** Free text, in which a tag follows each trigger. */
function triggered(format: Format, path: string, ends: Ends): Expression {
  const tags = tagsOf(format, path);
  const again: Rule = { kind: "rule", body: nothing };
  const next = format.stop_after_first === true ? ended(nothing, ends) : again;
  const after = (begun: string): Expression => {
    const begins = tags.filter(([tag, place]) => stringOf(tag, "begin", place).startsWith(begun));
    if (begins.length === 0) return refuse(path, `triggers: no tag begins with ${JSON.stringify(begun)}`);
    return sequence([choice(begins.map(([tag, place]) => tagOf(tag, place, begun))), next]);
  };
  const triggers = listOf(format, "triggers", path).map((trigger) => {
    if (typeof trigger !== "string" || trigger === "") return refuse(path, "triggers: expected texts");
    return { text: trigger, rest: after(trigger) };
  });
  again.body = freeText([...triggers, ...marksOf(ends)], ends.length === 0);
  return format.at_least_one === true ? after("") : again;
}

function separated(format: Format, path: string, ends: Ends): Expression {
  const tag = choice(tagsOf(format, path).map(([each, place]) => tagOf(each, place, "")));
  const more = sequence([text(stringOf(format, "separator", path)), tag]);
  const isOne = format.stop_after_first === true;
  const all = isOne ? tag : sequence([tag, repeat(more, 0, Number.POSITIVE_INFINITY)]);
  return ended(format.at_least_one === true ? all : repeat(all, 0, 1), ends);
}

/** JSON schemas as grammars: every text of the grammar meets the schema, and a schema that has no such grammar is refused. */
import { messageOf, SeekError } from "../../../base/errors.ts";
import { areExclusive, kindOf } from "./alternatives.ts";
import { endlessDefinition } from "./finite-values.ts";
import { formOf, itemsOf, type TypeName, typesOf } from "./keywords.ts";
import { numberGrammar } from "./numbers.ts";
import { listBody, type Parts, partsBody } from "./parts.ts";
import { literal, Rules, refuse, type Schema } from "./rules.ts";
import { anyString, countOf, otherKeys, stringGrammar } from "./strings.ts";

/**
 * The grammar, in GBNF, of JSON that meets a schema.
 *
 * @param schema - what JSON can hold
 * @throws ERR_ARGUMENT naming the part of the schema and the keyword that a grammar cannot hold to
 */
export function jsonSchemaGrammar(schema: object): string {
  const rules = new Rules();
  return rules.grammar(jsonSchemaRule(schema, rules));
}

/**
 * The rule of JSON that meets a schema, as a part of a larger grammar.
 *
 * @param rules - are added to; after a refusal they are incomplete
 * @throws ERR_ARGUMENT as {@link jsonSchemaGrammar}
 */
export function jsonSchemaRule(schema: object, rules: Rules): string {
  return new Grammar(jsonOf(schema), rules).root();
}

function jsonOf(schema: object): unknown {
  let text: string | undefined;
  try {
    text = JSON.stringify(schema, finite);
  } catch (error) {
    if (error instanceof SeekError) throw error;
    throw new SeekError("ERR_ARGUMENT", `constraint: jsonSchema: expected JSON: ${messageOf(error)}`);
  }
  return text === undefined ? refuse("jsonSchema", "expected JSON, got what has none") : JSON.parse(text);
}

/** What JSON has no number for it writes as null. */
function finite(key: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  return refuse("jsonSchema", `"${key}": expected a number of JSON, got ${value}`);
}

/** Branches of a `oneOf`, each of which has to exclude each other. */
const mostBranches = 300;

const isObject = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value);

class Grammar {
  readonly #root: unknown;
  readonly #rules: Rules;
  readonly #definitions = new Map<string, string>();
  /** References that are being followed without a character between. */
  #following = new Set<string>();

  constructor(root: unknown, rules: Rules) {
    this.#root = root;
    this.#rules = rules;
  }

  root(): string {
    const root = this.#reference("#", "jsonSchema");
    this.#checkEnds();
    return root;
  }

  #checkEnds(): void {
    const targets = new Map(
      [...this.#definitions.keys()].map((pointer) => [pointer, this.#target(pointer, "jsonSchema")]),
    );
    const endless = endlessDefinition(targets);
    if (endless !== undefined)
      refuse(pathOf(endless), "no finite value meets it: it asks for itself again and again");
  }

  /** The rule of a schema. */
  #rule(schema: unknown, path: string): string {
    if (schema === true) return this.#any();
    if (!isObject(schema)) return refuse(path, `expected a schema, got ${JSON.stringify(schema)}`);
    const form = formOf(schema, path);
    if (form === "any") return this.#any();
    if (form === "$ref") return this.#reference(schema.$ref, path);
    if (form === "const") return this.#values([schema.const], schema, path);
    if (form === "enum") return this.#values(schema.enum, schema, `${path}.enum`);
    if (form !== "type") return this.#branches(schema[form], form, `${path}.${form}`);
    const following = this.#following;
    this.#following = new Set();
    const ways = typesOf(schema, path).map((type) => this.#typed(type, schema, path));
    this.#following = following;
    return this.#choice(ways);
  }

  #choice(ways: readonly string[]): string {
    return this.#rules.add("value", this.#rules.either(ways));
  }

  #any(): string {
    return this.#rules.once("any", (any) => {
      const text = anyString(this.#rules);
      const list = listBody(this.#rules, {
        first: [],
        others: any,
        least: 0,
        most: Number.POSITIVE_INFINITY,
      });
      const object = partsBody(this.#rules, { named: [], others: `${text} ${this.#rules.colon} ${any}` });
      const number = this.#rules.add("number", numberGrammar({}, this.#rules, false, ""));
      return `${text} | ${number} | "true" | "false" | "null" | ${list} | ${object}`;
    });
  }

  #values(values: unknown, schema: Schema, path: string): string {
    if (!Array.isArray(values) || values.length === 0) return refuse(path, "expected a list of values");
    const types = typesOf(schema, path);
    const isOf = (value: unknown, type: TypeName): boolean =>
      type === "integer" ? Number.isInteger(value) : kindOf(value) === type;
    const wrong = values.find((value) => types.length > 0 && !types.some((type) => isOf(value, type)));
    if (wrong !== undefined) refuse(path, `${JSON.stringify(wrong)} is not of the "type" beside it`);
    return this.#choice(values.map((value) => literal(JSON.stringify(value))));
  }

  #branches(branches: unknown, form: "anyOf" | "oneOf" | "allOf", path: string): string {
    if (!Array.isArray(branches) || branches.length === 0) return refuse(path, "expected a list of schemas");
    if (form === "allOf" && branches.length > 1)
      refuse(path, "more than one schema is not held to by the grammar");
    if (form === "oneOf" && branches.length > mostBranches)
      refuse(path, `more than ${mostBranches} branches are not told apart; use "anyOf"`);
    const rules = branches.map((branch, i) => this.#rule(branch, `${path}.${i}`));
    if (form === "oneOf" && !areExclusive(branches, (schema) => this.#resolved(schema, path)))
      refuse(
        path,
        'branches that do not exclude each other by type, "const" or "enum" are not held to; use "anyOf"',
      );
    return this.#choice(rules);
  }

  #resolved(schema: Schema, path: string): Schema {
    return schema.$ref === undefined
      ? schema
      : this.#resolved(this.#target(schema.$ref, path) as Schema, path);
  }

  #target(reference: unknown, path: string): unknown {
    if (typeof reference !== "string" || !/^#(\/|$)/.test(reference))
      return refuse(path, `"$ref" ${JSON.stringify(reference)}: expected one within the schema, "#/..."`);
    let target = this.#root;
    for (const key of keysOf(reference)) {
      if (typeof target !== "object" || target === null || !Object.hasOwn(target, key))
        return refuse(path, `"$ref" ${JSON.stringify(reference)} is not in the schema`);
      target = (target as Schema)[key];
    }
    return target;
  }

  #reference(reference: unknown, path: string): string {
    const target = this.#target(reference, path);
    const pointer = reference as string;
    if (this.#following.has(pointer)) refuse(path, `"$ref" "${pointer}" leads back to itself`);
    const known = this.#definitions.get(pointer);
    if (known !== undefined) return known;
    const name = this.#rules.reserve("definition");
    this.#definitions.set(pointer, name);
    this.#following.add(pointer);
    this.#rules.define(name, this.#rule(target, pathOf(pointer)));
    this.#following.delete(pointer);
    return name;
  }

  #typed(type: TypeName, schema: Schema, path: string): string {
    if (type === "string") return stringGrammar(schema, this.#rules, path);
    if (type === "boolean") return this.#rules.add("boolean", '"true" | "false"');
    if (type === "null") return '"null"';
    if (type === "array") return this.#list(schema, path);
    if (type === "object") return this.#object(schema, path);
    return this.#rules.add("number", numberGrammar(schema, this.#rules, type === "integer", path));
  }

  #list(schema: Schema, path: string): string {
    const { firstKey, othersKey, ...given } = itemsOf(schema);
    const { first = [], others = given.first === undefined } = given;
    if (!Array.isArray(first)) return refuse(path, '"prefixItems" has to be a list of schemas');
    const longest = others === false ? first.length : Number.POSITIVE_INFINITY;
    const least = countOf(schema, "minItems", 0, path);
    const most = Math.min(countOf(schema, "maxItems", Number.POSITIVE_INFINITY, path), longest);
    if (least > most) refuse(path, '"minItems" is more than a list may have');
    const parts = {
      first: first.slice(0, most).map((item, i) => this.#rule(item, `${path}.${firstKey}.${i}`)),
      others: others === false ? undefined : this.#rule(others, `${path}.${othersKey}`),
    };
    return this.#rules.add("list", listBody(this.#rules, { ...parts, least, most }));
  }

  #object(schema: Schema, path: string): string {
    const { properties, propertyNames, required = [], additionalProperties } = schema;
    if (!Array.isArray(required)) return refuse(path, '"required" has to be a list of names');
    const isFree = properties === undefined && additionalProperties === undefined;
    const others = additionalProperties === undefined ? isFree : additionalProperties;
    const values = this.#propertiesOf(schema, others, path);
    const lacking = required.find((name) => !values.has(name));
    if (lacking !== undefined)
      refuse(path, `"required": ${JSON.stringify(lacking)} is none of the "properties"`);
    const names = new Set(required);
    const named = [...values].map(([name, [value, where]]) => ({
      isOptional: !names.has(name),
      pair: this.#pair(literal(JSON.stringify(name)), value, where),
    }));
    const isNamed = namesIn(propertyNames) !== undefined || others === false;
    const parts: Parts = {
      named,
      others: isNamed
        ? undefined
        : this.#pair(this.#key(schema, path), others, `${path}.additionalProperties`),
    };
    return this.#rules.add("object", partsBody(this.#rules, parts));
  }

  /** The properties that are named, and where each schema stands. */
  #propertiesOf(
    { properties = {}, propertyNames }: Schema,
    others: unknown,
    path: string,
  ): Map<unknown, readonly [unknown, string]> {
    if (!isObject(properties)) return refuse(path, '"properties" has to be an object of schemas');
    const named = Object.entries(properties);
    if (propertyNames !== undefined && named.length > 0)
      refuse(path, '"propertyNames" beside "properties" is not held to by the grammar');
    const listed = namesIn(propertyNames) ?? [];
    return new Map<unknown, readonly [unknown, string]>([
      ...named.map(([name, value]) => [name, [value, `${path}.properties.${name}`]] as const),
      ...listed.map((name) => [name, [others, `${path}.additionalProperties`]] as const),
    ]);
  }

  #pair(key: string, value: unknown, path: string): string {
    return `${key} ${this.#rules.colon} ${this.#rule(value, path)}`;
  }

  /** A key that has no property of its own. */
  #key({ properties = {}, propertyNames }: Schema, path: string): string {
    const names = Object.keys(properties as Schema);
    if (names.length > 0) return otherKeys(names, this.#rules, path);
    if (propertyNames === undefined) return anyString(this.#rules);
    const keys = isObject(propertyNames) ? this.#resolved(propertyNames, path) : {};
    if (keys.type !== "string") refuse(path, '"propertyNames" has to be a schema of the "type" "string"');
    return this.#rule(propertyNames, `${path}.propertyNames`);
  }
}

const pathOf = (pointer: string): string => ["jsonSchema", ...pointer.split("/").slice(1)].join(".");

/** The keys of a JSON pointer behind a "#", which may be written as in an address. */
function keysOf(pointer: string): string[] {
  const plain = pointer.replace(/(%[0-9a-fA-F]{2})+/g, (bytes) =>
    Buffer.from(bytes.replaceAll("%", ""), "hex").toString(),
  );
  const keys = plain.split("/").slice(1);
  return keys.map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function namesIn(propertyNames: unknown): string[] | undefined {
  if (!isObject(propertyNames)) return undefined;
  const names = propertyNames.const !== undefined ? [propertyNames.const] : propertyNames.enum;
  return Array.isArray(names) && names.every((name) => typeof name === "string") ? names : undefined;
}

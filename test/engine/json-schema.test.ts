/** Texts that are held to a JSON schema meet it, and a schema that cannot be held to is refused. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { jsonSchemaGrammar } from "../../lib/engine/constraint/json-schema/json-schema.ts";
import { openInstance } from "../../lib/engine/constraint/xgrammar.ts";
import { Engine } from "../../lib/engine/engine.ts";
import type { TokenTable } from "../../lib/engine/vocabulary.ts";
import type { Model } from "../../lib/model/model.ts";
import { generateOnce, tinyModel } from "./models.ts";

const words = [
  "é",
  "日",
  "😀",
  '",',
  '":',
  '"}',
  '{"',
  "\\u00",
  "\\n",
  "null",
  "true",
  "true,",
  "12",
  "1.5",
  "], [",
  '", "',
];
const pieces = [...Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)), ...words];
const end = pieces.length;

/** Each ASCII character, control characters too, and some pieces of JSON. */
const table: TokenTable = {
  vocabSize: end + 1,
  eosIds: [end],
  tokenBytes: (id) => Buffer.from(pieces[id] ?? ""),
  isSpecial: (id) => id === end,
};

/** Ends strings, lists and objects before the texts grow long. */
const logitBias = Object.fromEntries(['"', "}", "]"].map((char) => [char.charCodeAt(0), 3]));

let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel({ numTokens: end + 1 });
  engine = await Engine.open(model, { tokenizer: table });
});

after(async () => {
  await engine.close();
  model.close();
});

/** What a model of random weights says under the schema, of many seeds; texts that `maxTokens` cuts off are left out. */
async function texts(jsonSchema: object, numSeeds = 30): Promise<string[]> {
  const options = { maxTokens: 300, temperature: 1.5, logitBias, constraint: { jsonSchema } };
  const seeds = Array.from({ length: numSeeds }, (_, seed) => seed);
  const spans = await Promise.all(
    seeds.map((seed) => generateOnce(engine, Int32Array.of(65, 66, seed), { ...options, seed })),
  );
  const whole = spans.filter(({ stop }) => stop === "eos");
  assert.ok(whole.length >= numSeeds / 3, `${whole.length} of ${numSeeds} texts are whole`);
  return whole.map(({ ids }) => [...ids.subarray(0, -1)].map((id) => pieces[id]).join(""));
}

const { library } = openInstance();

/** Whether a text is one of the schema's grammar. */
async function takes(schema: object): Promise<(text: string) => Promise<boolean>> {
  const { GrammarCompiler, GrammarMatcher, TokenizerInfo } = library;
  const compiler = await GrammarCompiler.createGrammarCompiler(await TokenizerInfo.createTokenizerInfo([]));
  const compiled = await compiler.compileGrammar(jsonSchemaGrammar(schema));
  return async (text) => {
    const matcher = await GrammarMatcher.createGrammarMatcher(compiled, undefined, true);
    const isTaken = matcher._acceptString(text) && matcher.isTerminated();
    matcher.dispose();
    return isTaken;
  };
}

async function assertTakes(schema: object, taken: readonly string[], left: readonly string[]): Promise<void> {
  const check = await takes(schema);
  for (const text of taken) assert.ok(await check(text), `${JSON.stringify(schema)} has to take ${text}`);
  for (const text of left) assert.ok(!(await check(text)), `${JSON.stringify(schema)} must not take ${text}`);
}

interface Tree {
  readonly name: string;
  readonly children: Tree[];
}

const tree: z.ZodType<Tree> = z.lazy(() =>
  z.object({ name: z.string().max(3), children: z.array(tree).max(2) }),
);

const zodSchemas: Readonly<Record<string, z.ZodType>> = {
  object: z.object({ name: z.string(), age: z.int().min(0).max(150), isOpen: z.boolean() }),
  optional: z.object({ a: z.string().optional(), b: z.int().optional(), c: z.null().optional() }),
  "optional before required": z.object({
    a: z.boolean().optional(),
    b: z.int().max(9),
    c: z.boolean().optional(),
  }),
  "default and description": z.object({ a: z.int().default(5).describe("how many") }),
  "loose object": z.looseObject({ a: z.int(), ab: z.boolean().optional() }),
  "strict object": z.strictObject({ a: z.enum(["x", "y"]) }),
  enum: z.enum(["red", 'with "quotes"', "über"]),
  literals: z.union([z.literal("a"), z.literal(5), z.literal(null), z.literal(["b", "c"])]),
  array: z.array(z.int().min(-5).max(5)).min(1).max(4),
  "long array": z
    .array(z.enum(["a", "b"]))
    .min(20)
    .max(22),
  tuple: z.tuple([z.boolean(), z.int().max(9)]),
  "tuple with rest": z.tuple([z.boolean()], z.null()),
  nullable: z.object({ a: z.string().max(3).nullable() }),
  union: z.union([z.boolean(), z.array(z.boolean()), z.object({ a: z.null() })]),
  "discriminated union": z.discriminatedUnion("kind", [
    z.object({ kind: z.literal("a"), size: z.int().min(1).max(9) }),
    z.object({ kind: z.literal("b"), isOpen: z.boolean() }),
  ]),
  record: z.record(z.string(), z.boolean()),
  "record of an enum": z.record(z.enum(["x", "y"]), z.int().max(3)),
  "partial record": z.partialRecord(z.enum(["x", "y"]), z.int().max(3)),
  "record of an expression": z.record(z.string().regex(/^[a-c]{1,3}$/), z.null()),
  "lengths of strings": z.string().min(2).max(5),
  "long strings": z.string().min(18).max(30),
  expression: z.string().regex(/^[^a]{2}$/),
  "expression in the middle": z.string().regex(/[a-z]./),
  "expression of a length": z
    .string()
    .min(1)
    .max(9)
    .regex(/^\d{2,4}(-|x)$/),
  uuid: z.uuid(),
  date: z.iso.date(),
  datetime: z.iso.datetime(),
  email: z.email(),
  ipv4: z.ipv4(),
  number: z.number(),
  "number of a range": z.number().min(5).max(5.5),
  "number around 0": z.number().min(-1).max(1),
  "positive number": z.number().positive(),
  "negative number": z.number().lt(0),
  "fraction of 1": z.number().gt(0).lt(1),
  "whole number": z.int(),
  "positive whole number": z.int().positive(),
  tree,
  "any value": z.object({ a: z.any(), b: z.unknown() }),
};

for (const [name, schema] of Object.entries(zodSchemas)) {
  test(`what is held to a schema of zod is read by it: ${name}`, async () => {
    for (const text of await texts(z.toJSONSchema(schema))) {
      const { error } = schema.safeParse(JSON.parse(text));
      assert.equal(error, undefined, `${text}: ${error}`);
    }
  });
}

test("strings are JSON, of the length and the expression that the schema says", async () => {
  const string = (more: object): object => ({ type: "string", ...more });
  await assertTakes(
    string({ maxLength: 3 }),
    ['""', '"abc"', '"日本é"', '"\\n\\u00e9\\""', '"\\u0001/\\/"'],
    ['"abcd"', '"\n"', '"\x1c"', '"\\x"', '"\\ud800"', '"a', '"日本éa"', "abc"],
  );
  await assertTakes(string({ minLength: 2 }), ['"ab"', '"abcdefghijklmnopqrstuvwxyz"'], ['"a"', '"\\n"']);
  await assertTakes(
    string({ minLength: 16, maxLength: 40 }),
    [`"${"a".repeat(16)}"`, `"${"a".repeat(40)}"`],
    [`"${"a".repeat(15)}"`, `"${"a".repeat(41)}"`],
  );
  const letters = (count: number): string => JSON.stringify("é".repeat(count));
  await assertTakes(
    string({ maxLength: 200 }),
    [0, 1, 63, 64, 150, 199, 200].map(letters),
    [201, 202, 250].map(letters),
  );
  await assertTakes(
    string({ minLength: 150, maxLength: 300 }),
    [150, 240, 300].map(letters),
    [149, 301].map(letters),
  );
  await assertTakes(string({}), ['""', '"\\ud83d\\ude00"', '"😀"'], ['"\\ud83d"', '"\t"', '"a""']);
  await assertTakes(
    string({ pattern: "^a.b$" }),
    ['"a.b"', '"a\\"b"', '"a\\\\b"', '"a\\tb"'],
    ['"ab"', '"a\x01b"', '"a\\nb"', '"xa.b"'],
  );
  await assertTakes(string({ pattern: "b+" }), ['"b"', '"abba"'], ['"ac"', '""']);
  await assertTakes(string({ pattern: "^[é-ë\\d]{2,}|x$" }), ['"é4"', '"12345ab"', '"abx"'], ['"1"', '"xa"']);
  await assertTakes(string({ pattern: "^(?:a|(?<n>bc)){2}$|^$" }), ['"abc"', '"aa"', '""'], ['"a"', '"aaa"']);
});

test("numbers of a range are those within it", async () => {
  const bounds = [0, 1, -1, 5, 5.5, 0.1, -0.25, 99.999, 100, 1234.5, -40, 1e-7, 2 ** 53];
  const keys = ["minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum"];
  const numbers = [
    "0",
    "1",
    "-1",
    "5",
    "5.5",
    "5.25",
    "5.49",
    "5.51",
    "0.1",
    "0.11",
    "0.09",
    "-0.25",
    "-0.2",
    "-0.3",
  ];
  numbers.push(
    "0.5",
    "-0.5",
    "1.5",
    "-1.5",
    "99.999",
    "99.9989",
    "100",
    "100.1",
    "1234.5",
    "1234.499",
    "-40",
    "-40.5",
    "7",
    "10",
    "39",
  );
  numbers.push("999999", "-999999", "0.0000001", "0.0000002", "123456789.125");
  for (const [i, first] of bounds.entries()) {
    const second = bounds[(i * 5 + 3) % bounds.length]!;
    for (const [j, low] of keys.slice(0, 2).entries())
      for (const high of keys.slice(2 + ((i + j) % 2), 3 + ((i + j) % 2))) {
        const range = { [low]: Math.min(first, second), [high]: Math.max(first, second) };
        for (const type of ["number", "integer"])
          for (const each of [range, { [low]: first }, { [high]: first }])
            await checkRange({ type, ...each }, numbers);
      }
  }
});

async function checkRange(schema: Record<string, unknown>, numbers: readonly string[]): Promise<void> {
  const { type, minimum, maximum, exclusiveMinimum: above, exclusiveMaximum: below } = schema;
  const isWithin = (x: number): boolean =>
    !(x < Number(minimum)) && !(x > Number(maximum)) && !(x <= Number(above)) && !(x >= Number(below));
  let check: (text: string) => Promise<boolean>;
  try {
    check = await takes(schema);
  } catch (error) {
    assert.match(String(error), /no number of at most 15 digits is within the bounds/);
    const whole = Array.from({ length: 3000 }, (_, i) => i - 1500);
    assert.ok(!whole.some(isWithin) || type === "number", JSON.stringify(schema));
    return;
  }
  for (const text of numbers.filter((each) => type === "number" || !each.includes(".")))
    assert.equal(await check(text), isWithin(Number(text)), `${JSON.stringify(schema)}: ${text}`);
}

test("values that begin alike are told apart", async () => {
  const names = ["alpha", "alphabet", "beta", "betas", "gamma-1", "gamma-12", "gamma-2", "delta", "delphi"];
  await assertTakes(
    { enum: names },
    names.map((name) => JSON.stringify(name)),
    ['"alphas"', '"betabet"', '"gamma-"', '"gamma-11"', '"gamma"', '"gamma-122"', '"delpha"', '"alph"'],
  );
  const pattern = "^(?:[2-9]\\d{3}|[1-9]\\d{4}|[1-9]\\d{5}|[1-9]\\d{6}|[1-9]\\d{7})$";
  const digits = (count: number): string => `"${"2".repeat(count)}"`;
  await assertTakes({ type: "string", pattern }, [4, 5, 6, 7, 8].map(digits), [1, 2, 3, 9, 10].map(digits));
});

test("objects have their properties in order, and others where the schema allows them", async () => {
  const a = { type: "null" };
  const properties = { a, ab: a, c: a };
  const object = { type: "object", properties };
  await assertTakes(
    object,
    ["{}", '{"a":null}', '{ "ab" : null,\n"c":null }'],
    ['{"c":null,"a":null}', '{"x":null}', "{,}"],
  );
  await assertTakes(
    { ...object, required: ["ab"] },
    ['{"ab":null}', '{"a":null,"ab":null}', '{"a":null,"ab":null,"c":null}', '{"ab":null,"c":null}'],
    ["{}", '{"a":null}', '{"c":null}'],
  );
  await assertTakes(
    { ...object, required: ["a"], additionalProperties: { type: "boolean" } },
    ['{"a":null,"x":true}', '{"a":null,"abc":true,"":false}', '{"a":null,"ab":null}'],
    ['{"a":null,"a":true}', '{"a":null,"ab":true}', '{"a":null,"x":null}', '{"a":null,"\\u0061":true}'],
  );
  await assertTakes({ type: "object" }, ["{}", '{"a": [1, {"b": null}]}'], ["[]", '{"a"}']);
});

test("lists have the items of their schema, as many as it says", async () => {
  const items = { type: "boolean" };
  await assertTakes(
    { type: "array", items },
    ["[]", "[true]", "[ true , false ]"],
    ["[1]", "[true,]", "[,true]"],
  );
  await assertTakes(
    { type: "array", items, minItems: 2, maxItems: 3 },
    ["[true,true]", "[true,true,true]"],
    ["[true]", "[true,true,true,true]"],
  );
  await assertTakes({ type: "array", items, maxItems: 0 }, ["[]"], ["[true]"]);
  const prefixItems = [{ const: 1 }, { const: 2 }];
  await assertTakes({ type: "array", prefixItems }, ["[]", "[1]", "[1,2]"], ["[2]", "[1,2,true]"]);
  await assertTakes(
    { type: "array", prefixItems, items, minItems: 3 },
    ["[1,2,true]", "[1,2,true,false]"],
    ["[1,2]", "[1,2,3]"],
  );
  await assertTakes({ type: "array" }, ["[]", '[1,"a",[{}]]'], ["[1"]);
  await assertTakes({ type: ["array", "null"], items }, ["[true]", "null"], ["true"]);
});

test("references are followed, in circles too", async () => {
  const list = { type: "object", properties: { next: { $ref: "#" }, "a/b": { $ref: "#/$defs/x%25~1y" } } };
  await assertTakes(
    { ...list, $defs: { "x%/y": { const: 1 } } },
    ['{"next":{"next":{"a/b":1}}}'],
    ['{"next":1}', '{"a/b":2}'],
  );
});

test("branches of oneOf that exclude each other are held to", async () => {
  const branch = (kind: string): object => ({
    type: "object",
    properties: { kind: { const: kind } },
    required: ["kind"],
  });
  await assertTakes(
    { oneOf: [branch("a"), branch("b"), { type: "null" }] },
    ['{"kind":"a"}', "null"],
    ['{"kind":"c"}'],
  );
  await assertTakes({ allOf: [{ enum: [1, "x"] }] }, ["1", '"x"'], ["2"]);
});

test("what a grammar cannot hold to is refused by its place and its keyword", () => {
  const inside = (schema: object): object => ({ type: "object", properties: { x: schema } });
  const circle: Record<string, unknown> = { type: "object" };
  circle.properties = circle;
  const refusals: readonly (readonly [object, RegExp])[] = [
    [
      inside({ type: "number", multipleOf: 5 }),
      /jsonSchema\.properties\.x: "multipleOf" is not held to by the grammar; expected one of minimum/,
    ],
    [{ allOf: [{ type: "string" }, { maxLength: 3 }] }, /jsonSchema\.allOf: more than one schema/],
    [{ not: {} }, /"not" is not held to/],
    [{ type: "array", uniqueItems: true }, /"uniqueItems" is not held to/],
    [{ type: "array", contains: {} }, /"contains" is not held to/],
    [{ if: {}, else: {} }, /"if" is not held to/],
    [{ type: "object", dependentRequired: {} }, /"dependentRequired" is not held to/],
    [{ type: "object", minProperties: 1 }, /"minProperties" is not held to/],
    [{ type: "object", properties: {}, required: ["z"] }, /"required": "z" is none of the "properties"/],
    [
      { oneOf: [{ type: "number" }, { type: "integer" }] },
      /jsonSchema\.oneOf: branches that do not exclude each other/,
    ],
    [{ minimum: 5 }, /"minimum" needs a "type" beside it/],
    [
      inside({ $ref: "https://example.org/a.json" }),
      /properties\.x: "\$ref" "https:.*expected one within the schema/,
    ],
    [{ $ref: "#/$defs/a" }, /is not in the schema/],
    [{ $ref: "#" }, /leads back to itself/],
    [
      { type: "string", maxlenght: 5 },
      /"maxlenght" is not held to by the grammar; expected one of minLength, maxLength/,
    ],
    [{ type: "string", format: "uri" }, /"format" is held to by a "pattern" only/],
    [{ type: "string", pattern: "a(?=b)" }, /lookaround and modifiers is not held to/],
    [{ type: "string", pattern: "(a)\\1" }, /"\\1" is not held to/],
    [{ type: "string", pattern: "a$b" }, /is not held to/],
    [{ type: "string", pattern: "(" }, /no regular expression/],
    [{ type: "string", pattern: "^a*$", maxLength: 5 }, /beside this "pattern"/],
    [{ type: "string", maxLength: -1 }, /"maxLength" has to be a whole number/],
    [{ type: "integer", minimum: 0.2, maximum: 0.8 }, /no number of at most 15 digits/],
    [{ type: "string", enum: ["a", 1] }, /jsonSchema\.enum: 1 is not of the "type"/],
    [{ anyOf: [{ type: "string" }], minLength: 1 }, /"minLength" beside "anyOf"/],
    [inside({ type: "array", items: [{}] }), /properties\.x\.items: expected a schema/],
    [circle, /jsonSchema: expected JSON: .*circular/],
    [{ const: 5n }, /expected JSON: .*BigInt/],
    [{ toJSON: () => assert.fail("thrown") }, /expected JSON: thrown/],
  ];
  for (const [schema, message] of refusals)
    assert.throws(() => jsonSchemaGrammar(schema), { code: "ERR_ARGUMENT", message });
});

test("annotations say nothing of the text", async () => {
  const says = {
    $schema: "x",
    $id: "y",
    title: "t",
    description: "d",
    default: 1,
    examples: [1],
    $comment: "c",
    readOnly: true,
  };
  await assertTakes({ ...says, type: "boolean", deprecated: true }, ["true"], ["1"]);
});

test("generate refuses a schema before it samples, and goes on with another", async () => {
  const sequence = engine.open(Int32Array.of(65));
  const refused = { code: "ERR_ARGUMENT", message: /constraint: jsonSchema: "uniqueItems"/ };
  const wrong = { jsonSchema: { type: "array", uniqueItems: true } };
  await assert.rejects(sequence.generate({ maxTokens: 5, constraint: wrong }), refused);
  const { ids } = await sequence.generate({ maxTokens: 9, constraint: { jsonSchema: { const: "ok" } } });
  assert.equal([...ids.subarray(0, -1)].map((id) => pieces[id]).join(""), '"ok"');
  sequence.close();
});

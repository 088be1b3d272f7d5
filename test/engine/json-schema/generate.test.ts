/** Texts that are held to a JSON schema meet it. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { z } from "zod";
import { Engine } from "../../../lib/engine/engine.ts";
import type { TokenTable } from "../../../lib/engine/vocabulary.ts";
import type { Model } from "../../../lib/model/model.ts";
import { generateOnce, tinyModel } from "../models.ts";

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
async function texts(jsonSchema: object, numSeeds = 12): Promise<string[]> {
  const options = { maxTokens: 300, temperature: 1.5, logitBias, constraint: { jsonSchema } };
  const seeds = Array.from({ length: numSeeds }, (_, seed) => seed);
  const spans = await Promise.all(
    seeds.map((seed) => generateOnce(engine, Int32Array.of(65, 66, seed), { ...options, seed })),
  );
  const whole = spans.filter(({ stop }) => stop === "eos");
  assert.ok(whole.length >= numSeeds / 3, `${whole.length} of ${numSeeds} texts are whole`);
  return whole.map(({ ids }) => [...ids.subarray(0, -1)].map((id) => pieces[id]).join(""));
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
    // The AI SDK asks for draft 7, which has other names for tuples.
    const drafts = (["draft-2020-12", "draft-7"] as const).map((target) => {
      const { $schema, ...rest } = z.toJSONSchema(schema, { target });
      return JSON.stringify(rest);
    });
    for (const draft of new Set(drafts)) {
      for (const text of await texts(JSON.parse(draft))) {
        const { error } = schema.safeParse(JSON.parse(text));
        assert.equal(error, undefined, `${text}: ${error}`);
      }
    }
  });
}

test("generate refuses a schema before it samples, and goes on with another", async () => {
  const sequence = engine.open(Int32Array.of(65));
  const refused = { code: "ERR_ARGUMENT", message: /constraint: jsonSchema: "uniqueItems"/ };
  const wrong = { jsonSchema: { type: "array", uniqueItems: true } };
  await assert.rejects(sequence.generate({ maxTokens: 5, constraint: wrong }), refused);
  const { ids } = await sequence.generate({ maxTokens: 9, constraint: { jsonSchema: { const: "ok" } } });
  assert.equal([...ids.subarray(0, -1)].map((id) => pieces[id]).join(""), '"ok"');
  sequence.close();
});

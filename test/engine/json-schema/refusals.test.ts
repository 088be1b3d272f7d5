/** A JSON schema that cannot be held to is refused. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { jsonSchemaGrammar } from "../../../lib/engine/constraint/json-schema/json-schema.ts";

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
    [{ type: "string", format: 7 }, /"format" has to be a string/],
    [{ type: "string", pattern: "a(?=b)" }, /lookaround and modifiers is not held to/],
    [{ type: "string", pattern: "(a)\\1" }, /"\\1" is not held to/],
    [{ type: "string", pattern: "a$b" }, /is not held to/],
    [{ type: "string", pattern: "(" }, /no regular expression/],
    [{ type: "string", pattern: "^a*$", maxLength: 5 }, /beside this "pattern"/],
    [{ type: "string", maxLength: -1 }, /"maxLength" has to be a whole number/],
    [{ type: "integer", minimum: 0.2, maximum: 0.8 }, /no number of at most 15 digits/],
    [{ type: "string", enum: ["a", 1] }, /jsonSchema\.enum: 1 is not of the "type"/],
    [{ anyOf: [{ type: "string" }], minLength: 1 }, /"minLength" beside "anyOf"/],
    [inside({ type: "array", prefixItems: [], items: [{}] }), /properties\.x\.items: expected a schema/],
    [
      { type: "object", properties: { a: { $ref: "#" } }, required: ["a"] },
      /jsonSchema: no finite value meets it/,
    ],
    [
      {
        $defs: {
          a: { type: "array", items: { $ref: "#/$defs/b" }, minItems: 1 },
          b: { anyOf: [{ $ref: "#/$defs/a" }] },
        },
        anyOf: [{ type: "null" }, inside({ $ref: "#/$defs/a" })],
      },
      /jsonSchema\.\$defs\.a: no finite value meets it/,
    ],
    [
      { type: "array", prefixItems: [{ $ref: "#" }], items: false, minItems: 1 },
      /jsonSchema: no finite value meets it/,
    ],
    [{ const: Number.POSITIVE_INFINITY }, /jsonSchema: "const": expected a number of JSON, got Infinity/],
    [inside({ enum: [1, Number.NaN] }), /jsonSchema: "1": expected a number of JSON, got NaN/],
    [circle, /jsonSchema: expected JSON: .*circular/],
    [{ const: 5n }, /expected JSON: .*BigInt/],
    [{ toJSON: () => assert.fail("thrown") }, /expected JSON: thrown/],
  ];
  for (const [schema, message] of refusals)
    assert.throws(() => jsonSchemaGrammar(schema), { code: "ERR_ARGUMENT", message });
});

test("a schema that asks for itself is taken where a value may end", () => {
  const end = { anyOf: [{ type: "null" }, { $ref: "#" }] };
  for (const schema of [
    { type: "object", properties: { next: end }, required: ["next"] },
    { type: "object", properties: { next: { $ref: "#" } } },
    { type: "array", items: { $ref: "#" } },
    { type: ["object", "null"], properties: { next: { $ref: "#" } }, required: ["next"] },
  ])
    assert.match(jsonSchemaGrammar(schema), /root ::=/);
});

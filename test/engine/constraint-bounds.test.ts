/** Constraints that are large or hostile: what they cost is bounded, and others have their turn. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext, test } from "node:test";
import { FairQueue } from "../../lib/base/slices/fair-queue.ts";
import type { Constraint } from "../../lib/engine/constraint/constraint.ts";
import { Constraints } from "../../lib/engine/constraint/constraints.ts";
import { Automaton } from "../../lib/engine/constraint/grammar/automaton.ts";
import { readGrammar } from "../../lib/engine/constraint/grammar/gbnf.ts";
import { jsonSchemaGrammar } from "../../lib/engine/constraint/json-schema/json-schema.ts";
import { packBytes } from "../../lib/engine/vocabulary.ts";
import { randomNumbers } from "../serve/reading/replies.ts";
import { taker } from "./grammar/follow.ts";
import { letters } from "./models.ts";

const end = letters.eosIds[0]!;
const idsOf = (text: string): Int32Array => Int32Array.from(text, (char) => char.charCodeAt(0) - 32);

function opened(t: TestContext): Constraints {
  const constraints = new Constraints(letters, { ...packBytes(letters), vocabSize: letters.vocabSize });
  t.after(() => constraints.close());
  return constraints;
}

/** Texts like the ids of products, which differ in their first characters. */
const identifiers = (count: number, salt = ""): string[] =>
  Array.from({ length: count }, (_, i) =>
    createHash("sha256").update(`${salt}${i}`).digest("hex").slice(0, 36),
  );

const enumOf = (values: readonly string[]): Constraint => ({
  jsonSchema: { type: "object", properties: { id: { enum: values } }, required: ["id"] },
});

test("texts of an enum of 20,000 are taken, and no others", () => {
  const values = identifiers(20_000);
  const takes = taker(jsonSchemaGrammar(enumOf(values).jsonSchema as object));
  for (const id of values.filter((_, i) => i % 20 === 0)) assert.ok(takes(JSON.stringify({ id })), id);
  for (const id of identifiers(500, "x")) assert.ok(!takes(JSON.stringify({ id })), id);
  for (const id of values.slice(0, 500)) assert.ok(!takes(JSON.stringify({ id: id.slice(1) })), id);
});

test("the states of a large enum are made where a text comes to them alone", () => {
  const automaton = new Automaton(readGrammar(jsonSchemaGrammar({ enum: identifiers(20_000) })));
  // One state, one term: what a text has read of the trie.
  assert.ok(automaton.start.terms.length <= 2, `${automaton.start.terms.length} terms`);
});

test("a constraint that nobody waits for is not read", async (t) => {
  const constraints = opened(t);
  const controller = new AbortController();
  const large = constraints.open(enumOf(identifiers(10_000)), [end]);
  const given = constraints.open(enumOf(identifiers(9000)), [end], controller.signal);
  controller.abort();
  await assert.rejects(given, { code: "ERR_ABORTED" });
  (await large).close();
});

test("a small task waits for two others at most, and any task for twice as many as were before it", () => {
  const random = randomNumbers(11);
  for (let round = 0; round < 200; round++) {
    const turns = new FairQueue();
    const waits = new Map<number, { readonly most: number; numTaken: number }>();
    for (let task = 0; task < 60; task++) {
      const size = 1 + Math.floor(random() * 1000);
      // Every third round is a flood of small tasks.
      turns.add(task, round % 3 === 0 && task % 10 > 0 ? 1 : size);
      waits.set(task, { most: 2 * waits.size + 1, numTaken: 0 });
      for (let i = Math.floor(random() * 2.5); i > 0; i--) {
        const taken = turns.take();
        if (taken === undefined) break;
        const { numTaken, most } = waits.get(taken) as { numTaken: number; most: number };
        assert.ok(numTaken <= most, `${taken} waited for ${numTaken}, of at most ${most}`);
        waits.delete(taken);
        for (const each of waits.values()) each.numTaken += 1;
      }
    }
  }
  const flood = new FairQueue();
  for (let task = 0; task < 10; task++) flood.add(task, 1000);
  flood.add(10, 1);
  assert.ok([flood.take(), flood.take()].includes(10));
  assert.equal(flood.delete(0) || flood.delete(1), true);
});

test("a constraint of more than two million characters is read no further than that", async (t) => {
  const constraints = opened(t);
  let numRead = 0;
  const values = Array.from({ length: 3_000_000 }, () => "");
  const watched = new Proxy(values, {
    get: (list, key) => {
      numRead += 1;
      return Reflect.get(list, key);
    },
  });
  const refused = {
    code: "ERR_ARGUMENT",
    message: /constraint: expected at most 2,000,000 characters of JSON/,
  };
  await assert.rejects(constraints.open({ jsonSchema: { enum: watched } }, [end]), refused);
  assert.ok(numRead <= 2_000_000, `${numRead} reads`);
  await assert.rejects(constraints.open({ regex: "a".repeat(2_000_001) }, [end]), refused);
});

const deep = (depth: number): object =>
  depth === 0 ? { type: "null" } : { type: "array", items: deep(depth - 1) };
const definitions = (count: number, of: (next: object) => object): object => ({
  ...{ $ref: "#/$defs/d0" },
  $defs: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [
      `d${i}`,
      i + 1 === count ? { type: "null" } : of({ $ref: `#/$defs/d${i + 1}` }),
    ]),
  ),
});
const branch = (i: number): object => ({ type: "object", properties: { k: { const: i } }, required: ["k"] });

/** Each is followed for some tokens, or refused; neither takes long. */
const hostile: Readonly<Record<string, Constraint>> = {
  "nested lists": { jsonSchema: deep(200) },
  "references that fork at each level": { jsonSchema: definitions(60, (next) => ({ anyOf: [next, next] })) },
  "a long chain of references": { jsonSchema: definitions(2000, (next) => ({ anyOf: [next] })) },
  "a long chain of lists": {
    jsonSchema: definitions(1000, (next) => ({ type: "array", items: next, minItems: 1 })),
  },
  "many branches": { jsonSchema: { oneOf: Array.from({ length: 5000 }, (_, i) => branch(i)) } },
  "many properties": {
    jsonSchema: {
      type: "object",
      properties: Object.fromEntries(Array.from({ length: 3000 }, (_, i) => [`p${i}`, { type: "string" }])),
    },
  },
  "long strings": { jsonSchema: { type: "string", minLength: 100_000, maxLength: 100_000 } },
  "long lists": { jsonSchema: { type: "array", items: { type: "integer" }, minItems: 100_000 } },
  "a pattern of nested stars": { jsonSchema: { type: "string", pattern: "^((a*)*)*b$" } },
  "a pattern of nested counts": { jsonSchema: { type: "string", pattern: "^(((a?){1000}){1000}){1000}$" } },
  "a pattern of many ways": { jsonSchema: { type: "string", pattern: `^${"(a|b|c)?".repeat(10_000)}$` } },
  "an expression that looks back": { regex: "(.*a){60}" },
  "an ambiguous grammar": { grammar: 'root ::= "a" root root | "a"' },
  "a grammar that begins with itself": { grammar: 'root ::= root "a" | "b"' },
};

for (const [name, constraint] of Object.entries(hostile))
  test(`what is hostile is followed or refused: ${name}`, async (t) => {
    const constraints = opened(t);
    try {
      const text = await constraints.open(constraint, [end]);
      let mask = await text.next(new Int32Array());
      for (let i = 0; i < 20; i++) {
        const allowed = [...idsOf(' "[{}]:,abk01n')].filter(
          (id) => ((mask[id >> 5] as number) >>> (id & 31)) & 1,
        );
        if (allowed.length === 0) break;
        mask = await text.next(Int32Array.of(allowed[i % allowed.length] as number));
      }
      text.close();
    } catch (error) {
      assert.equal((error as { code?: string }).code, "ERR_ARGUMENT", String(error));
    }
    await (await constraints.open({ regex: "ok" }, [end])).next(new Int32Array());
  });

/** Spans are held to schemas, expressions and grammars, and nobody waits for their masks but they. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { native } from "../../lib/base/addon/native.ts";
import type { Constraint } from "../../lib/engine/constraint/constraint.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { nativeSampling } from "../../lib/engine/sampling-options.ts";
import type { GenerateOptions, Span } from "../../lib/engine/span.ts";
import type { Model } from "../../lib/model/model.ts";
import { generateOnce, letters, nativeEngineOptions, prompt, spell, tinyModel } from "./models.ts";

const start = prompt(12);
const end = letters.eosIds[0]!;
let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel();
  engine = await Engine.open(model, { tokenizer: letters });
});

after(async () => {
  await engine.close();
  model.close();
});

function spans(
  constraint: Constraint,
  options: Partial<GenerateOptions> = {},
  numSeeds: number = 12,
): Promise<Span[]> {
  const seeds = Array.from({ length: numSeeds }, (_, seed) => seed);
  return Promise.all(
    seeds.map((seed) => generateOnce(engine, start, { maxTokens: 200, ...options, constraint, seed })),
  );
}

/** The text before the end of the text. */
function textOf({ ids, stop }: Span): string {
  assert.equal(stop, "eos");
  return spell(ids.subarray(0, -1));
}

test("a schema holds spans to its JSON", async () => {
  const properties = {
    city: { enum: ["Paris", "Rome"] },
    year: { type: "integer", minimum: 0, maximum: 99 },
    open: { type: "boolean" },
  };
  const jsonSchema = { type: "object", properties, required: ["city", "year", "open"] };
  for (const span of await spans({ jsonSchema })) {
    const { city, year, open, ...rest } = JSON.parse(textOf(span));
    assert.ok(["Paris", "Rome"].includes(city), city);
    assert.ok(Number.isInteger(year) && year >= 0 && year <= 99, year);
    assert.deepEqual([typeof open, rest], ["boolean", {}]);
    assert.equal(span.drawnFrom, "shaped");
  }
});

test("an expression and a grammar hold the whole text", async () => {
  for (const span of await spans({ regex: "[0-9]{4}-(0[1-9]|1[0-2])" })) {
    assert.match(textOf(span), /^[0-9]{4}-(0[1-9]|1[0-2])$/);
  }
  for (const span of await spans({ grammar: 'root ::= "yes" | "no, " root' })) {
    assert.match(textOf(span), /^(no, )*yes$/);
  }
  assert.ok(
    (await spans({ regex: "(ab|cd){3}" }, { temperature: 0 }, 1)).every((span) => textOf(span).length === 6),
  );
});

test("a structural tag holds free text, marks and parts, and a schema in it to all that it says", async () => {
  const schema = {
    type: "object",
    properties: { n: { type: "integer", minimum: 3, maximum: 12 } },
    required: ["n"],
  };
  const tag = { type: "tag", begin: "<", content: { type: "json_schema", json_schema: schema }, end: ">" };
  const reasoning = { type: "tag", begin: "", content: { type: "any_text" }, end: "//" };
  const structuralTag = { type: "sequence", elements: [reasoning, tag] };
  const logitBias = { ["/".charCodeAt(0) - 32]: 6, ["}".charCodeAt(0) - 32]: 3 };
  for (const structural of [structuralTag, { type: "structural_tag", format: structuralTag }]) {
    for (const span of await spans({ structuralTag: structural }, { logitBias })) {
      const [, json = ""] = /^.*?\/\/<(.*)>$/.exec(textOf(span)) ?? [];
      const { n, ...rest } = JSON.parse(json);
      assert.ok(Number.isInteger(n) && n >= 3 && n <= 12, json);
      assert.deepEqual(rest, {});
    }
  }
});

test("a special token is drawn where a structural tag has its text, and nowhere else", async () => {
  const mark = "x".charCodeAt(0) - 32;
  const marked = { ...letters, isSpecial: (id: number) => id === mark || letters.isSpecial(id) };
  await using other = await Engine.open(model, { tokenizer: marked });
  const drawn = async (constraint: Constraint): Promise<string> => {
    const { ids } = await generateOnce(other, start, { maxTokens: 9, constraint, logitBias: { [mark]: 50 } });
    return spell(ids.subarray(0, -1));
  };
  const tag = { type: "tag", begin: "x", content: { type: "regex", pattern: "[xy]{2}" }, end: "z" };
  assert.equal(await drawn({ structuralTag: tag }), "xxxz");
  assert.equal(await drawn({ structuralTag: { ...tag, begin: "" } }), "xxz");
  assert.equal(await drawn({ regex: "[xy]{2}" }), "yy");
});

test("the draws are those of a row in which all else is forbidden, and the log-probabilities the policy's", async () => {
  const allowed = ["a", "b", "x"].map((char) => char.charCodeAt(0) - 32);
  const others = Array.from({ length: letters.vocabSize }, (_, id) => id).filter(
    (id) => !allowed.includes(id),
  );
  const logitBias = Object.fromEntries(others.map((id) => [id, Number.NEGATIVE_INFINITY]));
  const options = { maxTokens: 1, temperature: 0.7, entropies: true };
  const held = await spans({ regex: "[abx][abx]" }, options, 40);
  for (const [seed, span] of held.entries()) {
    assert.deepEqual(span, await generateOnce(engine, start, { ...options, logitBias, seed }));
  }
  assert.deepEqual(new Set(held.map(({ ids }) => ids[0])), new Set(allowed));
});

test("results do not depend on what runs beside, held to a form or not", async () => {
  const constraint = { regex: "[a-z]{3,12}" };
  const options = { maxTokens: 20, temperature: 0.8 };
  const alone = await generateOnce(engine, start, { ...options, constraint, seed: 5 });
  const plain = await generateOnce(engine, start, { ...options, seed: 6 });
  const together = await Promise.all([
    generateOnce(engine, start, { ...options, constraint, seed: 5 }),
    generateOnce(engine, start, { ...options, seed: 6 }),
    spans(constraint, options, 5),
  ]);
  assert.deepEqual(together.slice(0, 2), [alone, plain]);
});

test("stop strings, lengths and signals cut a constrained text off, and the sequence goes on", async () => {
  const constraint = { regex: "(ab)*c" };
  const [cut] = await spans(constraint, { maxTokens: 1 }, 1);
  assert.equal(cut?.stop, "length");
  const sequence = engine.open(start);
  const logitBias = { ["c".charCodeAt(0) - 32]: -1000 };
  const stopped = await sequence.generate({ maxTokens: 50, constraint, logitBias, stop: ["bab"] });
  assert.deepEqual([spell(stopped.ids), stopped.stopText], ["abab", "bab"]);
  const signal = AbortSignal.timeout(30);
  const aborted = await sequence.generate({ maxTokens: 400, constraint, logitBias, signal });
  assert.ok(["aborted", "length"].includes(aborted.stop), aborted.stop);
  const again = await sequence.generate({ maxTokens: 9, constraint: { regex: "xyz" } });
  assert.equal(textOf(again), "xyz");
  sequence.close();
});

test("chunks of a constrained span stream", async () => {
  const sequence = engine.open(start, { seed: 1 });
  const ids: number[] = [];
  for await (const chunk of sequence.stream({ maxTokens: 9, constraint: { regex: "[ab]{4}" } })) {
    ids.push(...chunk.ids);
  }
  assert.match(spell(ids.slice(0, -1)), /^[ab]{4}$/);
  sequence.close();
});

test("what is no constraint is refused with the library's reason, and others still work", async () => {
  for (const [constraint, message] of [
    [{ jsonSchema: { type: "objekt" } }, /jsonSchema: unknown type "objekt"; expected one of string/],
    [{ regex: "" }, /regex: expected a string that is not empty/],
    [{ grammar: "" }, /grammar: expected a string that is not empty/],
    [{ regex: "a(?=b)" }, /regex: lookaround and modifiers is not held to/],
    [{ regex: "(a" }, /regex: an open group/],
    [{ grammar: "root ::= x" }, /grammar, line 1: rule "x" is not defined/],
    [{}, /expected one of jsonSchema, regex, grammar, structuralTag, got {}/],
    [{ structuralTag: { type: "xml" } }, /structuralTag: type: expected one of const_string, .*, got "xml"/],
    [
      { structuralTag: { type: "sequence", elements: [{ type: "any_text" }, { type: "tags" }] } },
      /structuralTag\.elements\[1\]: type: expected one of/,
    ],
    [
      { structuralTag: { type: "json_schema", json_schema: { type: "objekt" } } },
      /jsonSchema: unknown type "objekt"/,
    ],
    [
      { structuralTag: { type: "tag", begin: "a", content: { type: "any_text" }, end: 1 } },
      /structuralTag: end: expected a string or several/,
    ],
    [{ regex: "a", grammar: "b" }, /expected one of/],
    [{ json: {} }, /unknown key "json"/],
  ] as const) {
    const refused = { code: "ERR_ARGUMENT", message };
    await assert.rejects(
      generateOnce(engine, start, { maxTokens: 1, constraint: constraint as never }),
      refused,
    );
  }
  assert.equal(textOf((await spans({ regex: "ok" }, {}, 1))[0]!), "ok");
  await using bare = await Engine.open(model);
  const constraint = { regex: "a" };
  const untold = { code: "ERR_ARGUMENT", message: /expected an engine that was opened with a tokenizer/ };
  await assert.rejects(generateOnce(bare, start, { maxTokens: 1, constraint }), untold);
  const endless = { code: "ERR_ARGUMENT", message: /expected stopIds/ };
  await assert.rejects(generateOnce(engine, start, { maxTokens: 1, constraint, stopIds: [] }), endless);
});

test("a sequence that is closed while its grammar compiles rejects as aborted", async () => {
  const sequence = engine.open(start);
  const span = sequence.generate({ maxTokens: 1, constraint: { regex: "never[a-z]{9}" } });
  assert.throws(() => sequence.append([1]), { code: "ERR_STATE" });
  sequence.close();
  await assert.rejects(span, { code: "ERR_ABORTED" });
});

test("a signal ends the wait for a grammar that compiles for long", async () => {
  const busy = await Engine.open(model, { tokenizer: letters });
  const sequence = busy.open(start);
  const constraint = { regex: "(a{1,300}b{1,300}){1,300}" };
  const controller = new AbortController();
  const span = sequence.generate({ maxTokens: 5, constraint, signal: controller.signal });
  let isDone = false;
  void span.then(() => (isDone = true));
  await setTimeout(50);
  assert.equal(isDone, false);
  controller.abort();
  const begun = performance.now();
  const { ids, stop } = await span;
  assert.ok(performance.now() - begun < 10_000);
  assert.deepEqual([ids.length, stop], [0, "aborted"]);
  assert.equal((await sequence.generate({ maxTokens: 2 })).ids.length, 2);
  await busy.close();
});

test("an engine that is closed while its first grammar compiles ends the thread", async () => {
  const fresh = await Engine.open(model, { tokenizer: letters });
  const span = fresh.open(start).generate({ maxTokens: 1, constraint: { regex: "a" } });
  const refused = assert.rejects(span, { code: "ERR_ABORTED" });
  await fresh.close();
  await refused;
});

test("a mask that is late holds up its own sequence only, and costs no steps", async () => {
  const told = new Map<number, number[]>();
  const finished = new Map<number, number>();
  const engine = new (native().EngineHandle)(({ sequences, counts, tokens, finishes }) => {
    let at = 0;
    for (const [i, id] of sequences.entries()) {
      told.set(id, [...(told.get(id) ?? []), ...tokens.slice(at, at + counts[i]!)]);
      if (finishes[i] !== 0) finished.set(id, finishes[i]!);
      at += counts[i]!;
    }
  });
  await engine.start(model.handle, nativeEngineOptions, {
    bytes: new Uint8Array(),
    starts: Int32Array.of(0),
  });
  const until = async (holds: () => boolean): Promise<void> => {
    for (let ms = 0; !holds() && ms < 10_000; ms += 5) await setTimeout(5);
    assert.ok(holds());
  };
  const words = Math.ceil(letters.vocabSize / 32);
  const only = (id: number): Int32Array =>
    Int32Array.from({ length: words }, (_, word) => (id >> 5 === word ? 1 << (id & 31) : 0));
  const options = { stop: [], stopIds: Int32Array.of(end), isStreamed: true, entropies: false };
  const span = { ...options, sampling: nativeSampling({}, letters.vocabSize) };
  engine.open(0, start, 0, undefined);
  engine.generate(0, { ...span, maxTokens: 3, maskWords: words });
  engine.open(1, start, 0, undefined);
  engine.generate(1, { ...span, maxTokens: 20, stopIds: new Int32Array(), maskWords: 0 });
  await until(() => finished.has(1));
  assert.deepEqual([told.get(0), told.get(1)?.length], [undefined, 20]);
  const { numSteps } = await engine.stats();
  for (const [i, id] of [7, 40, 9].entries()) {
    await setTimeout(10);
    assert.equal(told.get(0)?.length ?? 0, i);
    assert.throws(() => engine.setMask(0, new Int32Array(words + 1)), { code: "ERR_SHAPE" });
    engine.setMask(0, only(id));
    await until(() => told.get(0)?.length === i + 1);
  }
  assert.deepEqual([told.get(0), finished.get(0)], [[7, 40, 9], 1]);
  assert.ok((await engine.stats()).numSteps! <= numSteps! + 5);
  await engine.close();
});

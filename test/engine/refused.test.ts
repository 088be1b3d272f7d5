/** What an engine refuses, by name, and that a refused call changes nothing. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { Engine } from "../../lib/engine/engine.ts";
import type { GenerateOptions } from "../../lib/engine/span.ts";
import type { Model } from "../../lib/model/model.ts";
import { generateOnce, letters, prompt, tinyModel } from "./models.ts";

let model: Model;
let engine: Engine;

before(async () => {
  model = await tinyModel({ maxPosition: 4096 });
  engine = await Engine.open(model);
});

after(async () => {
  await engine.close();
  model.close();
});

test("arguments out of range are refused", async () => {
  const wrong = [{ maxTokens: 0 }, { temperature: -1 }, { topP: 0 }, { topP: 1.5 }, { topK: -1 }];
  for (const options of wrong) {
    await assert.rejects(generateOnce(engine, prompt(5), { maxTokens: 1, ...options }), {
      code: "ERR_RANGE",
    });
  }
  assert.throws(() => engine.open([97]), { code: "ERR_RANGE" });
  assert.throws(() => engine.open([-1]), { code: "ERR_RANGE" });
  assert.throws(() => engine.open([1], { seed: 0.5 }), { code: "ERR_RANGE" });
  await assert.rejects(Engine.open(model, { numBlocks: 0 }), { code: "ERR_RANGE" });
});

test("options that nobody knows and values of the wrong type are refused by name", async () => {
  const given = (options: object) => generateOnce(engine, prompt(5), { maxTokens: 1, ...options });
  const refused = (message: RegExp) => ({ code: "ERR_ARGUMENT", message });
  await assert.rejects(given({ temprature: 1 }), refused(/"temprature"; did you mean "temperature"\?$/));
  await assert.rejects(
    given({ maxTokens: "3" }),
    refused(/^generate: maxTokens: expected a number, got "3"$/),
  );
  await assert.rejects(given({ stop: "\n" }), refused(/^generate: stop: expected a list, got "\\n"$/));
  await assert.rejects(given({ stop: [7] }), refused(/^stop: expected strings that are not empty, got 7$/));
  await assert.rejects(given({ stopIds: [97] }), { code: "ERR_RANGE", message: /^stopIds: .*got 97 at 0$/ });
  const cast = (value: unknown) => value as number[];
  assert.throws(() => engine.open(cast("hello")), refused(/^promptIds: .*tokenizer\.encode.*got "hello"$/));
  assert.throws(() => engine.open(cast([1, "2"])), { code: "ERR_RANGE" });
  assert.throws(
    () => engine.open([1], { sead: 1 } as object),
    refused(/^open: unknown key "sead"; .*"seed"/),
  );
  await assert.rejects(Engine.open(model, { cacheMiB: 1 } as object), refused(/^Engine\.open: unknown key/));
});

test("what is no model and no tokenizer is refused by name", async () => {
  const refused = (message: RegExp) => ({ name: "SeekError", code: "ERR_ARGUMENT", message });
  await assert.rejects(
    Engine.open("path" as unknown as Model),
    refused(/^Engine\.open: expected a model, .*got "path"$/),
  );
  await assert.rejects(Engine.open(undefined as unknown as Model), refused(/got undefined$/));
  const tokenizer = {} as typeof letters;
  await assert.rejects(
    Engine.open(model, { tokenizer }),
    refused(/^Engine\.open: tokenizer: .*Tokenizer\.load.*got \{\}$/),
  );
  const sequence = engine.open(prompt(5));
  const missing = undefined as unknown as GenerateOptions;
  await assert.rejects(sequence.generate(missing), refused(/expected an object of options, got undefined$/));
  await assert.rejects(
    sequence.stream(missing).next(),
    refused(/expected an object of options, got undefined$/),
  );
  sequence.close();
});

test("a refused call leaves the sequence as it was", async () => {
  await using own = await Engine.open(model, { tokenizer: letters });
  const sequence = own.open(prompt(5), { seed: 1 });
  const refusals: object[] = [
    { maxTokens: 0 },
    { maxTokens: 1, stop: [7] },
    { maxTokens: 1, stopIds: [2 ** 40] },
  ];
  const notSignals = [{}, { aborted: false }, { aborted: true }, new EventTarget()];
  for (const signal of notSignals as AbortSignal[]) refusals.push({ maxTokens: 200, signal });
  for (const options of refusals as GenerateOptions[]) {
    await assert.rejects(sequence.generate(options), SeekError);
    await assert.rejects(sequence.stream(options).next(), SeekError);
  }
  assert.throws(() => sequence.append([1, 97]), { code: "ERR_RANGE" });
  assert.throws(() => sequence.truncate(2, { seed: -1 }), { code: "ERR_RANGE" });
  assert.throws(() => sequence.fork({ seed: 0.5 }), { code: "ERR_RANGE" });
  await assert.rejects(sequence.score([97]), { code: "ERR_RANGE" });
  assert.equal(sequence.length, 5);
  const { ids } = await sequence.generate({ maxTokens: 3, stopIds: [] });
  assert.deepEqual(ids, (await generateOnce(engine, prompt(5), { maxTokens: 3, seed: 1 })).ids);
  sequence.close();
});

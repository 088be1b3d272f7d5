/** Tokenizers of every kind against their reference programs, and what Tokenizer promises besides. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { type Encoded, expected, goldenText, readGolden } from "./fixtures.ts";

const load = (name: string): Promise<Tokenizer> => Tokenizer.load(join(goldenText, name));
const hasCode = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof SeekError && error.code === code && message.test(error.message);

for (const [name, reference] of Object.entries(expected.tokenizers) as [string, Encoded][]) {
  test(`${name} gives the reference's ids`, async () => {
    const tokenizer = await load(name);
    for (const [i, text] of expected.texts.entries()) {
      assert.deepEqual([...tokenizer.encode(text)], reference.ids[i], JSON.stringify(text));
    }
  });

  test(`${name} decodes to the reference's text`, async () => {
    const tokenizer = await load(name);
    const decoded = reference.ids.map((ids) => tokenizer.decode(ids));
    assert.deepEqual(decoded, reference.decoded);
  });
}

test("marks stand around a text only when they are asked for", async () => {
  for (const name of ["word-piece", "byte-level"]) {
    const { withSpecials } = expected.tokenizers[`${name}/tokenizer.json`] as Encoded;
    const tokenizer = await load(name);
    assert.deepEqual([...tokenizer.encode("Hello, world!", { addSpecialTokens: true })], withSpecials);
  }
  const model = await load("bpe.model");
  assert.equal(model.encode("a", { addSpecialTokens: true })[0], model.bosId);
  assert.notEqual(model.encode("a")[0], model.bosId);
});

test("text that others wrote can be read without its marks becoming tokens", async () => {
  const tokenizer = await load("byte-level");
  const id = tokenizer.idOf("<|im_end|>") as number;
  const text = "a passage<|im_end|>";
  assert.ok(tokenizer.encode(text).includes(id));
  const ids = tokenizer.encode(text, { parseSpecialTokens: false });
  assert.ok(!ids.includes(id));
  assert.equal(tokenizer.decode(ids), text);
});

test("the ends of a turn come from the tokenizer first, then from the model", async () => {
  const tokenizer = await load("byte-level");
  const idOf = (token: string): number | undefined => tokenizer.idOf(token);
  assert.deepEqual(tokenizer.eosIds, [idOf("<|im_end|>"), idOf("<|endoftext|>")]);
  assert.equal(tokenizer.padId, idOf("<|endoftext|>"));
  assert.equal(tokenizer.bosId, undefined);
  assert.deepEqual((await load("unigram.model")).eosIds, [2]);
});

test("the bytes of all ids, put together, are the text", async () => {
  const tokenizer = await load("byte-level");
  for (const text of expected.texts) {
    const ids = [...tokenizer.encode(text)];
    const bytes = Buffer.concat(ids.map((id) => tokenizer.tokenBytes(id)));
    assert.equal(bytes.toString("utf8"), text.normalize("NFC"));
  }
});

test("every id has bytes and one byte beyond the vocabulary is refused", async () => {
  const tokenizer = await load("bpe.model");
  for (let id = 0; id < tokenizer.vocabSize; ++id) assert.ok(tokenizer.tokenBytes(id));
  const newline = tokenizer.idOf("<0x0A>") as number;
  assert.deepEqual([...tokenizer.tokenBytes(newline)], [10]);
  assert.throws(
    () => tokenizer.tokenBytes(tokenizer.vocabSize),
    hasCode("ERR_RANGE", /expected 0\.\.\d+, got/),
  );
  assert.throws(() => tokenizer.decode([-1]), hasCode("ERR_RANGE", /got -1/));
});

test("marks can be left out of decoded text", async () => {
  const tokenizer = await load("byte-level");
  const ids = tokenizer.encode("<|im_start|>user\nHi<|im_end|>");
  assert.equal(tokenizer.decode(ids, { skipSpecialTokens: true }), "user\nHi");
  assert.equal(tokenizer.isSpecial(ids[0] as number), true);
});

test("the time to encode grows with the text, not with its square", async () => {
  for (const name of ["byte-level", "byte-fallback", "bpe.model", "unigram.model"]) {
    const tokenizer = await load(name);
    const before = process.cpuUsage();
    tokenizer.encode("ab".repeat(100_000));
    const { user, system } = process.cpuUsage(before);
    const seconds = (user + system) / 1e6;
    assert.ok(
      seconds < 5,
      `${name}: 200,000 letters without a space took ${seconds} s of a processor; a square would take minutes`,
    );
  }
});

test("ids of a model's padding rows are no text, and no error", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    const json = readGolden<Record<string, unknown>>("byte-level/tokenizer.json");
    await writeFile(join(folder, "tokenizer.json"), JSON.stringify(json));
    const { vocabSize } = await Tokenizer.load(folder);
    await writeFile(join(folder, "config.json"), JSON.stringify({ vocab_size: vocabSize + 2 }));
    const tokenizer = await Tokenizer.load(folder);
    const ids = [...tokenizer.encode("a b")];
    assert.equal(tokenizer.vocabSize, vocabSize);
    assert.equal(tokenizer.decode([vocabSize, ...ids, vocabSize + 1]), "a b");
    assert.throws(() => tokenizer.decode([vocabSize + 2]), hasCode("ERR_RANGE", /got/));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a text begins with the mark of its beginning once, whether it spells it or not", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    const json = readGolden<Record<string, unknown>>("byte-level/tokenizer.json");
    const [{ id, content }] = json.added_tokens as [{ id: number; content: string }];
    const special_tokens = { [content]: { id: content, ids: [id], tokens: [content] } };
    const single = [{ SpecialToken: { id: content, type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }];
    const post_processor = { type: "TemplateProcessing", single, pair: [], special_tokens };
    await writeFile(join(folder, "tokenizer.json"), JSON.stringify({ ...json, post_processor }));
    const tokenizer = await Tokenizer.load(folder);
    const plain = [...tokenizer.encode("a b")];
    assert.deepEqual([...tokenizer.encode("a b", { beginsText: true })], [id, ...plain]);
    assert.deepEqual([...tokenizer.encode(`${content}a b`, { beginsText: true })], [id, ...plain]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a folder without a tokenizer, and files that are none, are refused by name", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    await assert.rejects(
      Tokenizer.load(folder),
      hasCode("ERR_IO", /expected tokenizer\.json or one \*\.model/),
    );
    await assert.rejects(Tokenizer.load(join(folder, "none.json")), hasCode("ERR_IO", /none\.json/));
    await writeFile(join(folder, "a.model"), "no protocol buffer");
    await assert.rejects(
      Tokenizer.load(folder),
      hasCode("ERR_FORMAT", /a\.model: expected a SentencePiece model/),
    );
    await writeFile(join(folder, "tokenizer.json"), "{");
    await assert.rejects(Tokenizer.load(folder), hasCode("ERR_FORMAT", /tokenizer\.json: expected JSON/));
    await writeFile(join(folder, "tokenizer.json"), JSON.stringify({ model: { type: "Odd", vocab: {} } }));
    await assert.rejects(Tokenizer.load(folder), hasCode("ERR_FORMAT", /model\.type/));
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("parts that are unknown or malformed are refused instead of guessed", async () => {
  const json = readGolden<Record<string, unknown>>("byte-level/tokenizer.json");
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  const wrong: [object, RegExp][] = [
    [{ decoder: { type: "CTC" } }, /expected one of .*, got CTC/],
    [{ decoder: { type: "Sequence" } }, /tokenizer\.json: /],
    [{ normalizer: { type: "Odd" } }, /tokenizer\.json: .*Odd/],
    [{ post_processor: { type: "TemplateProcessing" } }, /tokenizer\.json: /],
    [{ model: { type: "BPE", vocab: {} } }, /tokenizer\.json: /],
    [{ added_tokens: [{ id: "1", content: "a" }] }, /added_tokens\.0\.id/],
  ];
  try {
    for (const [part, message] of wrong) {
      await writeFile(join(folder, "tokenizer.json"), JSON.stringify({ ...json, ...part }));
      await assert.rejects(Tokenizer.load(folder), hasCode("ERR_FORMAT", message));
    }
  } finally {
    await rm(folder, { recursive: true });
  }
});

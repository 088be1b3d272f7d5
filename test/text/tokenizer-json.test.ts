/** What of a tokenizer.json is refused by name, and that no pattern in it can hang. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { SeekError } from "../../lib/base/errors.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { processorMs } from "../processor-time.ts";
import { goldenText } from "./fixtures.ts";

/** A golden tokenizer with other components. */
async function changed(name: string, changes: Readonly<Record<string, unknown>>): Promise<Tokenizer> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-tokenizer-"));
  try {
    const json = JSON.parse(await readFile(join(goldenText, name, "tokenizer.json"), "utf8"));
    await writeFile(join(folder, "tokenizer.json"), JSON.stringify({ ...json, ...changes }));
    return await Tokenizer.load(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

const refuses = (changes: Readonly<Record<string, unknown>>, message: RegExp): Promise<void> =>
  assert.rejects(
    () => changed("byte-level", changes),
    (error) => error instanceof SeekError && error.code === "ERR_FORMAT" && message.test(error.message),
  );

const split = (regex: string) => ({
  pre_tokenizer: { type: "Split", pattern: { Regex: regex }, behavior: "Isolated", invert: false },
});

test("components that are not implemented exactly are refused by name", async () => {
  await refuses({ normalizer: { type: "Nmt" } }, /normalizer: Nmt/);
  await refuses({ normalizer: { type: "Lowercase", locale: "tr" } }, /normalizer Lowercase.*locale/);
  await refuses({ pre_tokenizer: { type: "UnicodeScripts" } }, /pre_tokenizer: UnicodeScripts/);
  await refuses({ pre_tokenizer: { type: "FixedLength", length: 3 } }, /pre_tokenizer: FixedLength/);
  await refuses({ post_processor: { type: "Wrap" } }, /post_processor: Wrap/);
  await refuses({ decoder: { type: "CTC" } }, /decoder.*CTC/);
  const { model } = JSON.parse(await readFile(join(goldenText, "byte-level", "tokenizer.json"), "utf8"));
  await refuses({ model: { ...model, dropout: 0.1 } }, /model\.dropout/);
  await refuses({ model: { ...model, end_of_word_suffix: "</w>" } }, /model\.end_of_word_suffix/);
  await refuses({ model: { ...model, merges: [...model.merges, "zz qq"] } }, /"zz".*not in the vocabulary/);
  await refuses({ model: { ...model, vocab: { ...model.vocab, far: 4e9 } } }, /model\.vocab/);
  await refuses({ added_tokens: [{ id: 900, content: "<far>" }] }, /<far>: expected id 420, got 900/);
  await refuses(split("(?>a+)b"), /atomic/);
  await refuses(split("a++b"), /possessive/);
});

test("an unknown key of the file and a broken chars map are refused at load", async () => {
  await refuses({ foo_mode: "fast" }, /foo_mode/);
  await refuses({ version: "2.0" }, /version/);
  for (const map of ["AAAA", "AAAAAA==", "AAAAAGEA", "BAAAAAAAAAD/", "!!", null]) {
    await refuses({ normalizer: { type: "Precompiled", precompiled_charsmap: map } }, /chars map|charsmap/);
  }
});

test("replacements in a row cannot grow a text without bound, and normal forms keep theirs", async () => {
  const grow = { type: "Replace", pattern: { String: "a" }, content: "aa" };
  const chain = (count: number) => Array.from({ length: count }, () => grow);
  const sequence = (normalizers: readonly object[]) => ({ normalizer: { type: "Sequence", normalizers } });
  const fails = (error: unknown) =>
    error instanceof SeekError &&
    error.code === "ERR_FORMAT" &&
    /more than \d+ characters/.test(error.message);
  const tokenizer = await changed("byte-level", { ...sequence(chain(40)), added_tokens: [] });
  assert.throws(() => tokenizer.encode("aaaa"), fails);
  const long = await changed("byte-level", {
    normalizer: { ...grow, content: "b".repeat(100_000) },
    added_tokens: [],
  });
  assert.throws(() => long.encode("a".repeat(20_000)), fails);
  await refuses(sequence(chain(300)), /normalizer: expected at most 256/);
  let nested: object = grow;
  for (let depth = 0; depth < 300; depth += 1) nested = { type: "Sequence", normalizers: [nested] };
  await refuses({ normalizer: nested }, /normalizer: expected at most 256/);
  await refuses({ decoder: { type: "Sequence", decoders: chain(40) } }, /decoder Replace: makes more than/);
  await refuses({ decoder: { type: "Sequence", decoders: chain(300) } }, /decoder: expected at most 256/);
  // The longest expansion there is: 18 characters for one.
  const normal = await changed("byte-level", { normalizer: { type: "NFKC" } });
  assert.ok(normal.encode("\ufdfa".repeat(5000)).length >= 90_000);
});

test("patterns that could take exponential time are refused", async () => {
  const hostile = [
    "(a+)+$",
    "(a|a)*b",
    "(?:a?){30}a{30}",
    "((a*)*)*",
    "(a|b|ab)*c",
    "(x+x+)+y",
    "(?:a{1,9}){1,9}",
  ];
  for (const regex of hostile) await refuses(split(regex), /several ways|more than/);
  await refuses(split("(".repeat(5000) + ")".repeat(5000)), /deeper/);
  await refuses(split("a*a*a*a*a*b"), /more than/);
});

test("a pattern of polynomial time ends at its deadline, and others take long texts", async () => {
  const slow = await changed("byte-level", split("a*a*a*b"));
  const spent = processorMs(() => assert.throws(() => slow.encode("a".repeat(20_000)), /took over/));
  assert.ok(spent < 8000, `${spent} ms`);
  const fast = await Tokenizer.load(join(goldenText, "byte-level"));
  assert.equal(fast.decode(fast.encode("ab ".repeat(20_000))), "ab ".repeat(20_000));
});

test("bert isolates ideographs of the newer planes, keeps sigmas apart and takes U+FEFF for no space", async () => {
  const vocab = { "[UNK]": 0, "\u{20000}": 1, a: 2, σισ: 3, σας: 4, "a\u0897": 5, "##a": 6 };
  const model = {
    type: "WordPiece",
    vocab,
    unk_token: "[UNK]",
    continuing_subword_prefix: "##",
    max_input_chars_per_word: 100,
  };
  const tokenizer = await changed("word-piece", { model, added_tokens: [], post_processor: null });
  assert.deepEqual([...tokenizer.encode("a\u{20000}a")], [2, 1, 2]);
  // The last sigma of a word is lowercased as any other.
  assert.deepEqual([...tokenizer.encode("ΣΙΣ")], [3]);
  // A mark newer than the reference's tables is kept.
  assert.deepEqual([...tokenizer.encode("a\u0897")], [5]);
  // U+FEFF is a format character, which goes without a trace.
  assert.deepEqual([...tokenizer.encode("a\ufeffa")], [2, 6]);
});

test("a unigram model with byte fallback spells unknown characters in bytes", async () => {
  const bytes = Array.from({ length: 256 }, (_, byte) => [
    `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
    -9,
  ]);
  const model = {
    type: "Unigram",
    unk_id: 0,
    vocab: [["<unk>", 0], ["a", -1], ...bytes],
    byte_fallback: true,
  };
  const decoder = { type: "Sequence", decoders: [{ type: "ByteFallback" }, { type: "Fuse" }] };
  const parts = { model, decoder, added_tokens: [], normalizer: null, pre_tokenizer: null };
  const tokenizer = await changed("unigram", parts);
  const ids = tokenizer.encode("a\né");
  assert.deepEqual([...ids], [1, 12, 2 + 0xc3, 2 + 0xa9]);
  assert.equal(tokenizer.decode(ids), "a\né");
});

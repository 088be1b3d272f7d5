/** The tokenizer and the chat template of a GGUF file. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../../project.ts";
import { sharedData, skipWithoutData } from "../../shared-data.ts";
import { byteLetter, ggufBytes } from "./fixture.ts";

let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-gguf-"));
});

after(() => rm(folder, { recursive: true }));

test("a BPE vocabulary is read with its merges, marks and template", async () => {
  const letters = Array.from({ length: 127 }, (_, byte) => byteLetter(byte));
  const words = ["he", "ll", "hell", "hello", "\u0120w"];
  const marks = ["<|bos|>", "<|end|>"];
  const tokens = [...letters, ...words, ...marks];
  const id = (token: string): number => tokens.indexOf(token);
  const path = join(folder, "bpe.gguf");
  const metadata = {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "llama-bpe",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": tokens.map((token) => (marks.includes(token) ? 3 : 1)),
    "tokenizer.ggml.merges": ["h e", "l l", "he ll", "hell o", "\u0120 w"],
    "tokenizer.ggml.bos_token_id": id("<|bos|>"),
    "tokenizer.ggml.eos_token_id": id("<|end|>"),
    "tokenizer.chat_template":
      "{{ bos_token }}{% for message in messages %}{{ message.content }}{{ eos_token }}{% endfor %}",
  };
  await writeFile(path, ggufBytes(metadata, []));
  const tokenizer = await Tokenizer.load(path);
  const ids = [id("hello"), id("\u0120w"), id("o"), id("<|end|>")];
  assert.deepEqual([...tokenizer.encode("hello wo<|end|>")], ids);
  assert.equal(tokenizer.decode(ids), "hello wo<|end|>");
  assert.deepEqual(tokenizer.eosIds, [id("<|end|>")]);
  assert.deepEqual([...tokenizer.encode("hello", { beginsText: true })], [id("<|bos|>"), id("hello")]);
  const template = await ChatTemplate.load(path);
  assert.equal(template?.render([{ role: "user", content: "hello" }]), "<|bos|>hello<|end|>");
  for (const [key, value, message] of [
    ["pre", "tekken", /tokenizer.ggml.pre.*tekken/],
    ["tokens", [...tokens.slice(0, -1), "hell"], /tokens: "hell" stands twice/],
    ["eos_token_id", 5000, /eos_token_id: expected an id of the \d+ tokens, got 5000/],
  ] as const) {
    await writeFile(path, ggufBytes({ ...metadata, [`tokenizer.ggml.${key}`]: value }, []));
    await assert.rejects(Tokenizer.load(path), { code: "ERR_FORMAT", message });
  }
});

/** Of a BPE vocabulary of letters with a mark at either end. */
function markedMetadata(): Record<string, GgufValue> {
  const tokens = [...Array.from({ length: 127 }, (_, byte) => byteLetter(byte)), "<s>", "</s>"];
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": "qwen2",
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": tokens.map((_, id) => (id < 127 ? 1 : 3)),
    "tokenizer.ggml.bos_token_id": 127,
    "tokenizer.ggml.eos_token_id": 128,
  };
}

test("a BPE file that does not say how text is cut is refused with a remedy", async () => {
  const path = join(folder, "uncut.gguf");
  const { "tokenizer.ggml.pre": _, ...metadata } = markedMetadata();
  await writeFile(path, ggufBytes(metadata, []));
  const message = /tokenizer\.ggml\.pre: is missing; .*Remedy: .*gguf-new-metadata --pre-tokenizer/;
  await assert.rejects(Tokenizer.load(path), { code: "ERR_FORMAT", message });
});

test("docs/models.md lists the ways to cut that the refusal of an unknown one lists", async () => {
  const path = join(folder, "unknown-cut.gguf");
  await writeFile(path, ggufBytes({ ...markedMetadata(), "tokenizer.ggml.pre": "no-such" }, []));
  const refusal = await Tokenizer.load(path).catch(({ message }: Error) => message);
  const [, known = ""] = /expected (.*), got no-such/.exec(String(refusal)) ?? [];
  const page = await readFile(join(projectRoot, "docs", "models.md"), "utf8");
  const [, listed = ""] = /`tokenizer\.ggml\.pre` says: ([^)]*)\)/.exec(page) ?? [];
  const names = [...listed.matchAll(/`([^`]+)`/g)].map(([, name]) => name);
  assert.ok(names.length > 1);
  assert.deepEqual(names.sort(), known.split(", ").sort());
});

test("marks stand around a text of a BPE file as its flags say", async () => {
  const path = join(folder, "marks.gguf");
  const letter = "a".charCodeAt(0);
  for (const [bos, eos, ids] of [
    [undefined, undefined, [letter]],
    [undefined, true, [letter, 128]],
    [true, true, [127, letter, 128]],
    [true, false, [127, letter]],
  ] as const) {
    const flags = Object.entries({ add_bos_token: bos, add_eos_token: eos }).flatMap(([key, flag]) =>
      flag === undefined ? [] : [[`tokenizer.ggml.${key}`, flag]],
    );
    await writeFile(path, ggufBytes({ ...markedMetadata(), ...Object.fromEntries(flags) }, []));
    const tokenizer = await Tokenizer.load(path);
    assert.deepEqual([...tokenizer.encode("a", { addSpecialTokens: true })], ids);
    assert.deepEqual(
      tokenizer.pairMarks?.middle ?? [],
      bos && eos ? [128, 127] : eos ? [128] : bos ? [127] : [],
    );
  }
});

/** The `tokenizer.ggml` keys that llama.cpp's converter makes of a tokenizer.json. */
async function bpeMetadata(path: string, pre: string): Promise<Record<string, GgufValue>> {
  const { model, added_tokens } = JSON.parse(await readFile(path, "utf8"));
  const tokens: string[] = [];
  for (const [token, id] of Object.entries(model.vocab)) tokens[id as number] = token;
  const types = tokens.map(() => 1);
  for (const { id, content, special } of added_tokens) {
    tokens[id] = content;
    types[id] = special ? 3 : 4;
  }
  return {
    "tokenizer.ggml.model": "gpt2",
    "tokenizer.ggml.pre": pre,
    "tokenizer.ggml.tokens": tokens,
    "tokenizer.ggml.token_type": types,
    "tokenizer.ggml.merges": model.merges.map((merge: string | string[]) =>
      typeof merge === "string" ? merge : merge.join(" "),
    ),
  };
}

const texts = [
  "Who founded Citibank in 1812?\n\nIt's 12345 \u4f60\u597d  caf\u00e9 e\u0301t\u00e9 <|im_end|><|eot_id|>",
  "  def f(x):\n\treturn x**2  # \u00fcber\r\n",
];

for (const [name, pre] of [
  ["qwen2.5", "qwen2"],
  ["llama3", "llama-bpe"],
] as const) {
  test(`the tokenizer of ${name} as GGUF gives the ids of its tokenizer.json`, {
    skip: skipWithoutData,
  }, async () => {
    const source = sharedData("tokenizers", name, "tokenizer.json");
    const path = join(folder, `${name}.gguf`);
    await writeFile(path, ggufBytes(await bpeMetadata(source, pre), []));
    const [expected, read] = await Promise.all([Tokenizer.load(source), Tokenizer.load(path)]);
    for (const text of texts) assert.deepEqual(read.encode(text), expected.encode(text), text);
  });
}

/** Prompts of megabytes are turned into ids on a thread of their own. */
import assert from "node:assert/strict";
import { copyFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Worker } from "node:worker_threads";
import { promptIdsOf } from "../../apps/serve/generation/prompt-ids.ts";
import { askThread } from "../../apps/serve/generation/prompt-worker.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { checkpoint } from "./model/served.ts";

const threads: Worker[] = [];
process.on("worker", (thread) => threads.push(thread));

const texts: Readonly<Record<string, string>> = {
  words: "Who founded Citibank? ".repeat(5000),
  "one run without spaces": "abcdefghij".repeat(5000),
  marks: `a${"\u0301\u0316".repeat(20_000)}`,
  spaces: " ".repeat(200_000),
};

/** The tokenizer, which refuses to read more than a short text itself. */
async function shortReader(): Promise<Tokenizer> {
  const tokenizer = await Tokenizer.load(checkpoint);
  const encode = tokenizer.encode.bind(tokenizer);
  tokenizer.encode = (text, options) => {
    assert.ok(text.length <= 1 << 13, `${text.length} characters are encoded here`);
    return encode(text, options);
  };
  return tokenizer;
}

for (const [name, text] of Object.entries(texts))
  test(`a long text has the ids that it has in one piece, and others have their turn: ${name}`, async () => {
    const [tokenizer, whole] = [await shortReader(), await Tokenizer.load(checkpoint)];
    const form = { kind: "text", addSpecialTokens: false, parseSpecialTokens: true } as const;
    let isDone = false;
    const ids = promptIdsOf(text, { tokenizer, contextTokens: 1_000_000, form }).finally(
      () => (isDone = true),
    );
    let numTurns = 0;
    for (; !isDone; numTurns++) await nextTurn();
    assert.ok(numTurns > 1, `${numTurns} turns`);
    assert.deepEqual(await ids, whole.encode(text));
  });

test("a text that is far longer than the context is refused, whatever stands in it", async () => {
  const tokenizer = await shortReader();
  for (const text of [...Object.values(texts).map((each) => each.repeat(4)), "x ".repeat(3_000_000)])
    await assert.rejects(promptIdsOf(text, { tokenizer, contextTokens: 100, form: { kind: "prompt" } }), {
      code: "context_length_exceeded",
    });
});

test("a short text is encoded where it is, and a tokenizer from no file reads long ones too", async () => {
  const tokenizer = await Tokenizer.load(checkpoint);
  const form = { kind: "prompt" } as const;
  const short = await promptIdsOf("Who?", { tokenizer, contextTokens: 100, form });
  assert.deepEqual(short, tokenizer.encode("Who?", { beginsText: true }));
  const codec = { encode: (text: string) => new Int32Array(text.length) };
  const ids = await promptIdsOf("a".repeat(20_000), { tokenizer: codec, contextTokens: 100_000, form });
  assert.equal(ids.length, 20_000);
});

const asText = { kind: "text", addSpecialTokens: false, parseSpecialTokens: true } as const;

test("a thread that died fails who waits for it, and another one takes its place", async () => {
  const tokenizer = await Tokenizer.load(checkpoint);
  const read = (): Promise<Int32Array> =>
    promptIdsOf(texts.words as string, { tokenizer, contextTokens: 100_000, form: asText });
  await read();
  // Nothing that it knows how to read.
  threads.at(-1)?.postMessage(undefined);
  const json = [new TextEncoder().encode('"a"')];
  const task = { kind: "encode", path: checkpoint, json, form: asText, most: 10 } as const;
  await assert.rejects(askThread(task, tokenizer), { code: "ERR_INTERNAL", message: /^prompt: / });
  assert.deepEqual(await read(), tokenizer.encode(texts.words as string));
});

test("a tokenizer that cannot be loaded anew is told as loading tells it, and is tried again", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "tokenizer-"));
  t.after(() => rm(folder, { recursive: true }));
  const file = join(folder, "tokenizer.json");
  await copyFile(join(checkpoint, "tokenizer.json"), file);
  const tokenizer = await Tokenizer.load(folder);
  const read = (): Promise<Int32Array> =>
    promptIdsOf(texts.words as string, { tokenizer, contextTokens: 100_000, form: asText });
  await writeFile(file, "{");
  const { code, message } = await Tokenizer.load(folder).catch((error) => error);
  assert.match(code, /^ERR_FORMAT$/);
  await assert.rejects(read(), { code, message: `prompt: ${message}` });
  await copyFile(join(checkpoint, "tokenizer.json"), file);
  assert.deepEqual(await read(), tokenizer.encode(texts.words as string));
});

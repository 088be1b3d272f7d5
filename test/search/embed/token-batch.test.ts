/** How texts become rows of ids: marks, cuts, pairs, batches. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { pairRow, textRow, tokenBatches } from "../../../lib/search/embed/token-batch.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../../project.ts";

const folder = (name: string): string => join(projectRoot, "test", "golden", "embed", name);
const repeated = (word: string, count: number): string => Array(count).fill(word).join(" ");

test("a text that is too long loses its end, never its marks", async () => {
  const tokenizer = await Tokenizer.load(folder("bert-cls"));
  const { ids } = textRow(tokenizer, repeated("a", 50), 12);
  const [cls, sep] = ["[CLS]", "[SEP]"].map((mark) => tokenizer.idOf(mark) ?? -1);
  assert.deepEqual([ids.length, ids[0], ids.at(-1)], [12, cls, sep]);
  assert.equal(textRow(tokenizer, "", 12).ids.length, 2);
});

test("a pair is cut as the reference cuts it, the longer text first", async () => {
  const tokenizer = await Tokenizer.load(folder("bert-rank"));
  // [tokens of each text, tokens that transformers 5.18 keeps of each with truncation to 48, marks included]
  for (const [a, b, keptA, keptB] of [
    [1, 1, 1, 1],
    [5, 60, 5, 40],
    [21, 30, 21, 24],
    [22, 23, 22, 23],
    [23, 22, 23, 22],
    [23, 23, 22, 23],
    [30, 60, 22, 23],
    [60, 5, 40, 5],
    [60, 30, 23, 22],
    [60, 60, 22, 23],
  ] as const) {
    const { ids, types } = pairRow(tokenizer, [repeated("a", a), repeated("b", b)], 48);
    const second = types?.reduce((sum, type) => sum + type, 0) ?? 0;
    assert.deepEqual([ids.length - second - 2, second - 1], [keptA, keptB], `${a} and ${b} tokens`);
  }
});

test("the marks of RoBERTa's pairs are all of segment 0", async () => {
  const tokenizer = await Tokenizer.load(folder("xlm-roberta-rank"));
  const { ids, types } = pairRow(tokenizer, ["a", "a"], 48);
  assert.equal(ids.filter((id) => id === tokenizer.idOf("</s>")).length, 3);
  assert.ok(types?.every((type) => type === 0));
});

test("batches hold every row in order", async () => {
  const items = Array.from({ length: 100 }, (_, i) => i);
  const rowOf = (i: number) => ({ ids: new Int32Array((i % 7) + 1).fill(i) });
  const seen: number[] = [];
  for await (const { ids, starts } of tokenBatches(items, rowOf, { maxTokens: 20 })) {
    assert.ok(ids.length < 27);
    for (let s = 0; s + 1 < starts.length; s += 1) {
      const row = ids.subarray(starts[s], starts[s + 1]);
      assert.equal(row.length, ((row[0] ?? 0) % 7) + 1);
      seen.push(row[0] ?? -1);
    }
  }
  assert.deepEqual(seen, items);
});

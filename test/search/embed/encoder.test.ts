/** Encoders against sentence-transformers (test/golden/embed), alone and in batches, in f32, bf16 and int8. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Encoder } from "../../../lib/search/embed/encoder.ts";
import { copyOf, embedders, golden, texts, worstDifference } from "./golden.ts";

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    [ab, aa, bb] = [ab + x * y, aa + x * x, bb + y * y];
  }
  return ab / Math.sqrt(aa * bb);
}

// What sentence-transformers 6.0.1 reads of the golden texts: the width of `SentenceTransformer.tokenize`.
const numTokens: Readonly<Record<string, readonly [passages: number[], queries: number[]]>> = {
  "bert-cls": [
    [20, 30, 3, 2, 22, 10, 32, 25],
    [29, 29, 27],
  ],
  "bert-mean": [
    [20, 30, 3, 2, 22, 10, 40, 25],
    [7, 7, 5],
  ],
  "xlm-roberta": [
    [39, 48, 5, 5, 38, 21, 48, 33],
    [15, 18, 17],
  ],
  "qwen3-last": [
    [40, 56, 2, 1, 43, 22, 64, 36],
    [62, 58, 59],
  ],
};

for (const [name, expected] of Object.entries(embedders)) {
  test(`${name}: as many tokens are counted as sentence-transformers reads`, async () => {
    await using encoder = await Encoder.open(join(golden, name));
    const counted = [
      texts.passages.map((text) => encoder.countTokens(text, "passage")),
      texts.queries.map((text) => encoder.countTokens(text, "query")),
    ];
    assert.deepEqual(counted, numTokens[name]);
  });

  test(`${name}: vectors are sentence-transformers' within 1e-4`, async () => {
    await using encoder = await Encoder.open(join(golden, name));
    assert.equal(encoder.dim, expected.passages[0]?.length);
    assert.ok(worstDifference(await encoder.embedPassages(texts.passages), expected.passages) < 1e-4);
    assert.ok(worstDifference(await encoder.embedQueries(texts.queries), expected.queries) < 1e-4);
  });

  test(`${name}: bf16 keeps a cosine of 0.999 to f32`, async () => {
    await using encoder = await Encoder.open(join(golden, name), { dtype: "bfloat16" });
    const vectors = await encoder.embedPassages(texts.passages);
    expected.passages.forEach((row, i) => {
      const got = vectors.subarray(i * encoder.dim, (i + 1) * encoder.dim);
      assert.ok(cosine(got, row) >= 0.999, `passage ${i}: ${cosine(got, row)}`);
    });
  });

  test(`${name}: int8 keeps a cosine of 0.995 to f32, and a text its bits in any company`, async () => {
    await using encoder = await Encoder.open(join(golden, name), { weights: "int8" });
    const vectors = await encoder.embedPassages(texts.passages);
    for (const [i, row] of expected.passages.entries()) {
      const got = vectors.subarray(i * encoder.dim, (i + 1) * encoder.dim);
      assert.ok(cosine(got, row) >= 0.995, `passage ${i}: ${cosine(got, row)}`);
      assert.deepEqual(await encoder.embedPassages([texts.passages[i] ?? ""]), got);
    }
    assert.notDeepEqual(vectors, Float32Array.from(expected.passages.flat()));
  });

  test(`${name}: a text has the same bits alone, in any order and in any company`, async () => {
    await using encoder = await Encoder.open(join(golden, name));
    const { dim } = encoder;
    const many = Array.from({ length: 60 }, (_, i) => texts.passages[(i * 5) % texts.passages.length] ?? "");
    const together = await encoder.embedPassages(many);
    const reversed = await encoder.embedPassages([...many].reverse());
    for (const i of [0, 1, 7, 42]) {
      const alone = await encoder.embedPassages([many[i] ?? ""]);
      assert.deepEqual(together.subarray(i * dim, (i + 1) * dim), alone);
      assert.deepEqual(reversed.subarray((59 - i) * dim, (60 - i) * dim), alone);
    }
  });
}

test("a signal ends a long call, a closed encoder refuses, and marks in a text are letters", async () => {
  const encoder = await Encoder.open(join(golden, "bert-cls"));
  const stop = new AbortController();
  const many = Array.from({ length: 20_000 }, (_, i) => `${texts.passages[1]} ${i}`);
  const running = encoder.embedPassages(many, { signal: stop.signal });
  setTimeout(() => stop.abort(), 30);
  await assert.rejects(running, { code: "ERR_ABORTED" });
  const vectors = await encoder.embedPassages(["a [SEP] b", "a b"]);
  assert.notDeepEqual(vectors.subarray(0, encoder.dim), vectors.subarray(encoder.dim));
  assert.deepEqual(await encoder.embedPassages([]), new Float32Array(0));
  encoder.close();
  encoder.close();
  await assert.rejects(encoder.embedQueries(["a"]), { code: "ERR_STATE" });
});

test("other work has its turns while a corpus is tokenized and embedded", async () => {
  await using encoder = await Encoder.open(join(golden, "bert-cls"));
  let turns = 0;
  const timer = setInterval(() => {
    turns += 1;
  }, 1);
  await encoder.embedPassages(Array.from({ length: 3000 }, (_, i) => `${texts.passages[1]} ${i}`));
  clearInterval(timer);
  // Tokenizing alone takes about 100 ms: one turn if it were done at once, however busy the machine is.
  assert.ok(turns > 10, `${turns} turns`);
});

test("calls at once of growing lengths give what calls one after another give", {
  timeout: 120_000,
}, async () => {
  const folder = await copyOf("qwen3-last");
  const path = join(folder, "config.json");
  const config = JSON.parse(await readFile(path, "utf8")) as object;
  await writeFile(path, JSON.stringify({ ...config, max_position_embeddings: 4096 }));
  const grown = Array.from({ length: 24 }, (_, i) => "ab ".repeat(1 + i * i));
  const embed = async (run: (encoder: Encoder) => Promise<Float32Array[]>): Promise<Float32Array[]> => {
    await using encoder = await Encoder.open(folder, { maxTokens: 4096 });
    return await run(encoder);
  };
  const expected = await embed(async (encoder) => {
    const vectors: Float32Array[] = [];
    for (const text of grown) vectors.push(await encoder.embedPassages([text]));
    return vectors;
  });
  for (let round = 0; round < 20; round++) {
    const vectors = await embed((encoder) => Promise.all(grown.map((text) => encoder.embedPassages([text]))));
    assert.deepEqual(vectors, expected);
  }
});

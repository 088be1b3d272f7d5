/** Encoders against sentence-transformers (test/golden/embed), alone and in batches, in f32, bf16 and int8. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Encoder, type EncoderOptions } from "../../lib/embed/encoder.ts";
import { projectRoot } from "../project.ts";

const golden = join(projectRoot, "test", "golden", "embed");
interface Golden {
  readonly texts: { readonly passages: string[]; readonly queries: string[] };
  readonly embedders: Record<string, { readonly passages: number[][]; readonly queries: number[][] }>;
}
const { texts, embedders } = JSON.parse(await readFile(join(golden, "golden.json"), "utf8")) as Golden;

const scratch = await mkdtemp(join(tmpdir(), "seekrl-encoder-"));
after(() => rm(scratch, { recursive: true }));
let copies = 0;

/** A copy of a golden folder that a test may change. */
async function copyOf(name: string): Promise<string> {
  copies += 1;
  const folder = join(scratch, `${name}-${copies}`);
  await cp(join(golden, name), folder, { recursive: true });
  return folder;
}

function worstDifference(vectors: Float32Array, expected: readonly number[][]): number {
  const flat = expected.flat();
  assert.equal(vectors.length, flat.length);
  return flat.reduce((worst, value, i) => Math.max(worst, Math.abs(value - (vectors[i] ?? 0))), 0);
}

function cosine(a: ArrayLike<number>, b: ArrayLike<number>): number {
  let [ab, aa, bb] = [0, 0, 0];
  for (let i = 0; i < a.length; i += 1) {
    const [x, y] = [a[i] ?? 0, b[i] ?? 0];
    [ab, aa, bb] = [ab + x * y, aa + x * x, bb + y * y];
  }
  return ab / Math.sqrt(aa * bb);
}

async function refuses(folder: string, message: RegExp, options: EncoderOptions = {}): Promise<void> {
  await assert.rejects(Encoder.open(folder, options), (error: Error & { code?: string }) => {
    assert.match(error.message, message);
    return error.code === "ERR_FORMAT" || error.code === "ERR_ARGUMENT" || error.code === "ERR_RANGE";
  });
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

test("the folder's settings are read, and options override them", async () => {
  await using encoder = await Encoder.open(join(golden, "xlm-roberta"));
  assert.deepEqual(encoder.settings, {
    pooling: "mean",
    normalise: true,
    queryPrefix: "query: ",
    passagePrefix: "passage: ",
    maxTokens: 48,
    lowerCase: false,
  });
  await using other = await Encoder.open(join(golden, "xlm-roberta"), {
    queryPrefix: "passage: ",
    maxTokens: 20,
  });
  assert.deepEqual(await other.embedQueries(texts.queries), await encoder.embedPassages(texts.queries));
});

test("the older spelling of pooling, length and lower case is read", async () => {
  const folder = await copyOf("bert-cls");
  const pooling = {
    word_embedding_dimension: 32,
    pooling_mode_cls_token: false,
    pooling_mode_mean_tokens: true,
  };
  await writeFile(join(folder, "1_Pooling", "config.json"), JSON.stringify(pooling));
  const length = { max_seq_length: 24, do_lower_case: true };
  await writeFile(join(folder, "sentence_bert_config.json"), JSON.stringify(length));
  await using encoder = await Encoder.open(folder);
  const { pooling: read, maxTokens, lowerCase } = encoder.settings;
  assert.deepEqual({ read, maxTokens, lowerCase }, { read: "mean", maxTokens: 24, lowerCase: true });
});

test("a plain folder needs to be told how to pool and gives vectors as they are", async () => {
  const folder = await copyOf("bert-cls");
  await rm(join(folder, "modules.json"));
  await refuses(folder, /expected the option pooling: cls, mean or last/);
  await using plain = await Encoder.open(folder, { pooling: "cls" });
  await using normalised = await Encoder.open(folder, { pooling: "cls", normalise: true });
  const vector = await plain.embedPassages(["a"]);
  assert.ok(Math.abs(Math.hypot(...vector) - 1) > 0.01);
  assert.ok(Math.abs(Math.hypot(...(await normalised.embedPassages(["a"]))) - 1) < 1e-6);
});

test("what is not supported is refused by name", async () => {
  const folder = await copyOf("bert-cls");
  const modules = JSON.parse(await readFile(join(folder, "modules.json"), "utf8")) as object[];
  const dense = { idx: 3, name: "3", path: "3_Dense", type: "sentence_transformers.models.Dense" };
  await writeFile(join(folder, "modules.json"), JSON.stringify([...modules, dense]));
  await refuses(
    folder,
    /modules\.json: expected Transformer, Pooling .* got Transformer, Pooling, Normalize, Dense/,
  );
  await writeFile(join(folder, "modules.json"), JSON.stringify(modules));
  await writeFile(join(folder, "1_Pooling", "config.json"), JSON.stringify({ pooling_mode: "max" }));
  await refuses(folder, /pooling: expected cls, mean or lasttoken, got max/);
  const config = JSON.parse(await readFile(join(folder, "config.json"), "utf8")) as object;
  const options = { pooling: "cls" } as const;
  await rm(join(folder, "modules.json"));
  for (const [wrong, message] of [
    [{ model_type: "t5" }, /model_type: expected bert, .* got t5/],
    [{ hidden_act: "relu" }, /hidden_act: expected gelu, got relu/],
    [{ position_embedding_type: "relative_key" }, /position_embedding_type: expected absolute/],
    [{ num_attention_heads: 5 }, /5 heads do not divide the width 32/],
    [{ hidden_size: 64 }, /expected shape \[\d+, 64\], got \[\d+, 32\]/],
    [{ num_hidden_layers: 3 }, /missing tensor encoder\.layer\.2\./],
    [{ num_hidden_layers: 1 }, /holds a tensor that the model has not: encoder\.layer\.1\./],
  ] as const) {
    await writeFile(join(folder, "config.json"), JSON.stringify({ ...config, ...wrong }));
    await refuses(folder, message, options);
  }
  await refuses(join(golden, "bert-cls"), /maxTokens: expected 8 to 64, got 65/, { maxTokens: 65 });
});

test("an encoder without tokenizer.json is refused, whatever else lies there", async () => {
  const folder = await copyOf("xlm-roberta");
  await rename(join(folder, "tokenizer.json"), join(folder, "sentencepiece.bpe.model"));
  await assert.rejects(Encoder.open(folder), { code: "ERR_IO", message: /tokenizer\.json/ });
});

/** Gives the tensors of a folder's weights file other names. */
async function renameTensors(folder: string, nameOf: (name: string) => string): Promise<void> {
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  const headerEnd = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, headerEnd)) as Record<string, unknown>;
  const named = Object.entries(header).map(([name, value]) => [
    name === "__metadata__" ? name : nameOf(name),
    value,
  ]);
  const text = Buffer.from(JSON.stringify(Object.fromEntries(named)));
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(BigInt(text.length));
  await writeFile(path, Buffer.concat([length, text, bytes.subarray(headerEnd)]));
}

test("weights may carry the names of a generator or of early releases", async () => {
  const ways: readonly [string, (name: string) => string][] = [
    ["qwen3-last", (name) => `model.${name}`],
    [
      "bert-cls",
      (name) =>
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"),
    ],
    ["xlm-roberta", (name) => `roberta.${name}`],
  ];
  for (const [name, nameOf] of ways) {
    const folder = await copyOf(name);
    await renameTensors(folder, nameOf);
    await using renamed = await Encoder.open(folder);
    const expected = embedders[name]?.queries ?? [];
    assert.ok(worstDifference(await renamed.embedQueries(texts.queries), expected) < 1e-4);
  }
});

test("a fingerprint names the weights and the settings", async () => {
  const folder = await copyOf("bert-cls");
  const fingerprintOf = async (options: EncoderOptions = {}): Promise<string> => {
    await using encoder = await Encoder.open(folder, options);
    return encoder.fingerprint();
  };
  const first = await fingerprintOf();
  assert.match(first, /^[0-9a-f]{64}$/);
  assert.equal(await fingerprintOf({ dtype: "bfloat16" }), first);
  assert.notEqual(await fingerprintOf({ queryPrefix: "query: " }), first);
  const path = join(folder, "model.safetensors");
  const bytes = await readFile(path);
  bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 1;
  await writeFile(path, bytes);
  assert.notEqual(await fingerprintOf(), first);
});

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

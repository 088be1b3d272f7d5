/** Broken GGUF files are refused by name. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { readGguf } from "../../../lib/base/gguf/gguf.ts";
import type { GgufValue } from "../../../lib/base/gguf/gguf-cursor.ts";
import { readGgufModel } from "../../../lib/model/gguf/gguf-model.ts";
import { Model } from "../../../lib/model/model.ts";
import { ggufBytes } from "./fixture.ts";
import { tinyMetadata, withValues } from "./tiny.ts";

let folder = "";

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-gguf-"));
});

after(() => rm(folder, { recursive: true }));

const valueBytes = new Uint8Array(4 * 256 * 4);
const good = withValues({ type: "F32", bytes: valueBytes });

/** A file whose one value is a list of a list of a list. */
function nestedLists(depth: number): Buffer {
  const open = Buffer.from("090000000100000000000000", "hex");
  const key = Buffer.from("deep");
  const head = ggufBytes({}, []).subarray(0, 24);
  head.writeUInt32LE(1, 16);
  const length = Buffer.alloc(8);
  length.writeUInt32LE(key.length);
  const lists = Array.from({ length: depth }, () => open);
  return Buffer.concat([head, length, key, Buffer.of(9, 0, 0, 0), ...lists]);
}

/** The file with one of its metadata changed. */
const changed = (metadata: Readonly<Record<string, GgufValue>>): Buffer =>
  ggufBytes({ ...tinyMetadata, "llama.vocab_size": 3, ...metadata }, []);

const broken: readonly (readonly [string, Buffer, RegExp])[] = [
  ["no bytes at all", Buffer.alloc(0), /header ends beyond/],
  ["another file", Buffer.from("{ this is JSON, no GGUF }"), /expected a GGUF file/],
  [
    "an old version",
    Buffer.concat([good.subarray(0, 4), Buffer.of(1, 0, 0, 0), good.subarray(8)]),
    /version 2 or 3/,
  ],
  ["a header that is cut", good.subarray(0, 300), /header ends beyond the file's 300 bytes/],
  ["data that is cut", good.subarray(0, good.length - 64), /ends beyond the file's/],
  [
    "a tensor that begins beyond the file",
    good.subarray(0, good.length - 3 * 4 * 256),
    /output_norm.weight begins beyond the file's/,
  ],
  [
    "rotary factors that are cut",
    ggufBytes({ ...tinyMetadata, "llama.vocab_size": 3 }, [
      { name: "rope_freqs.weight", shape: [2 ** 20], type: "F32", bytes: new Uint8Array(8) },
    ]),
    /rope_freqs.weight ends beyond the file's/,
  ],
  ["another architecture", changed({ "general.architecture": "mamba" }), /general.architecture.*mamba/],
  ["a key that might count", changed({ "llama.logit_scale": 2 }), /llama.logit_scale/],
  ["experts", changed({ "llama.expert_count": 8 }), /expert_count/],
  ["a number that is a text", changed({ "llama.block_count": "one" }), /block_count: expected a number/],
  ["lists in lists without end", nestedLists(60_000), /deep: expected lists in lists up to 8 deep/],
  [
    "an odd alignment",
    changed({ "general.alignment": 7 }),
    /general.alignment: expected a multiple of 8, got 7/,
  ],
  ["an adapter", changed({ "general.type": "adapter" }), /general.type: expected model, got adapter/],
  ["one file of several", changed({ "split.count": 3 }), /split.count: .* one of 3 files; merge them/],
  [
    "another number of words than the embedding's",
    withValues({ type: "F32", bytes: valueBytes }, { "llama.vocab_size": 4 }),
    /llama.vocab_size: expected 3, the rows of token_embd, got 4/,
  ],
  [
    "too many tensors",
    Buffer.concat([good.subarray(0, 8), Buffer.alloc(8, 255), good.subarray(16)]),
    /expected up to/,
  ],
];

for (const [what, bytes, message] of broken) {
  test(`${what} is refused by name`, async () => {
    const path = join(folder, "broken.gguf");
    await writeFile(path, bytes);
    await assert.rejects(Model.load(path), { code: "ERR_FORMAT", message });
  });
}

test("a factor without a type is linear, as in llama.cpp", async () => {
  const path = join(folder, "factor.gguf");
  for (const [factor, expected] of [
    [4, { rope_type: "linear", factor: 4 }],
    [1, null],
  ] as const) {
    await writeFile(path, changed({ "llama.rope.scaling.factor": factor }));
    assert.deepEqual((await readGgufModel(path)).config.rope_scaling, expected);
  }
});

test("a header that is cut anywhere is refused and never hangs", async () => {
  const path = join(folder, "cut.gguf");
  for (let length = 0; length < 1200; length += 7) {
    await writeFile(path, good.subarray(0, length));
    await assert.rejects(readGguf(path), { code: "ERR_FORMAT" });
  }
});

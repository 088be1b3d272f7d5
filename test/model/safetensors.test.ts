/** Safetensors headers: good ones are read, every kind of bad one is refused by name. */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { readSafetensorsHeader, safetensorsHeader } from "../../lib/model/safetensors.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const folder = mkdtempSync(join(tmpdir(), "seekrl-safetensors-"));
after(() => rmSync(folder, { recursive: true }));
let numFiles = 0;

function write(bytes: Uint8Array): string {
  const path = join(folder, `${numFiles++}.safetensors`);
  writeFileSync(path, bytes);
  return path;
}

function file(header: string | Uint8Array, dataBytes = 0, headerBytes?: bigint): Uint8Array {
  const text = Buffer.from(header as string);
  const length = Buffer.alloc(8);
  length.writeBigUInt64LE(headerBytes ?? BigInt(text.length));
  return Buffer.concat([length, text, Buffer.alloc(dataBytes)]);
}

const tensor = (shape: unknown, offsets: unknown, dtype = "F32"): Record<string, unknown> => ({
  dtype,
  shape,
  data_offsets: offsets,
});
const header = (entries: Record<string, unknown>): string => JSON.stringify(entries);

const good: Record<string, [Uint8Array, number]> = {
  "an empty header": [file("{}"), 0],
  "a header with spaces around": [file(" {}  "), 0],
  "a scalar": [file(header({ a: tensor([], [0, 4]) }), 4), 1],
  "a tensor without elements": [file(header({ a: tensor([2, 0], [0, 0]) })), 1],
  "metadata of strings": [file(header({ __metadata__: { format: "pt" } })), 0],
  "tensors in another order than their bytes": [
    file(header({ b: tensor([2], [4, 12]), a: tensor([1], [0, 4]) }), 12),
    2,
  ],
  "half a byte per element": [file(header({ a: tensor([4], [0, 2], "F4") }), 2), 1],
  "a name that stands in a string and in another object too": [
    file(
      header({ __metadata__: { a: '"a":', shape: "{" }, a: tensor([1], [0, 4]), 'b":': tensor([0], [4, 4]) }),
      4,
    ),
    2,
  ],
};

for (const [what, [bytes, count]] of Object.entries(good)) {
  test(`${what} is read`, async () => {
    assert.equal((await readSafetensorsHeader(write(bytes))).length, count);
  });
}

const one = tensor([2, 2], [0, 16]);
const oneText = JSON.stringify(one);
const bad: Record<string, Uint8Array> = {
  "an empty file": new Uint8Array(0),
  "a file of seven bytes": new Uint8Array(7),
  "a header of no bytes": file("", 16),
  "a header longer than the file": file(header({ a: one }), 0, 5000n),
  "a header of 2^63 bytes": file("{}", 0, 1n << 63n),
  "a header over the format's bound": file("{}", 0, 100_000_001n),
  "a header that is not JSON": file('{"a":'),
  "a header that is not UTF-8": file(Buffer.from([0xff, 0x7b, 0x7d])),
  "a header that is an array": file("[]"),
  "data that ends early": file(header({ a: one }), 15),
  "data behind the last tensor": file(header({ a: one }), 17),
  "a gap between tensors": file(header({ a: one, b: tensor([1], [20, 24]) }), 24),
  "tensors that overlap": file(header({ a: one, b: tensor([1], [12, 16]) }), 16),
  "offsets in reverse": file(header({ a: tensor([2, 2], [16, 0]) }), 16),
  "a first tensor that does not begin at zero": file(header({ a: tensor([2, 2], [4, 20]) }), 20),
  "a shape that does not match the bytes": file(header({ a: tensor([2, 3], [0, 16]) }), 16),
  "a shape too large to count": file(header({ a: tensor([2 ** 32, 2 ** 32, 2 ** 32], [0, 16]) }), 16),
  "a negative size": file(header({ a: tensor([-1], [0, 4]) }), 4),
  "a size that is no whole number": file(header({ a: tensor([1.5], [0, 6]) }), 6),
  "an unknown dtype": file(header({ a: tensor([2, 2], [0, 16], "F31") }), 16),
  "a dtype that every object inherits": file(header({ a: tensor([2, 2], [0, 16], "constructor") }), 16),
  "a missing field": file(header({ a: { dtype: "F32", shape: [2] } }), 8),
  "metadata that is no string": file(header({ __metadata__: { epoch: 1 } })),
  "a tensor that stands twice": file(`{"a":${oneText}, "a" :${oneText}}`, 16),
  "a tensor that stands twice, once with an escape": file(`{"a":${oneText},"\\u0061":${oneText}}`, 16),
  "offsets that stand twice": file(`{"a":{"data_offsets":[0,4],${oneText.slice(1)}}`, 16),
  "a third of a byte": file(header({ a: tensor([1], [0, 1], "F4") }), 1),
};

for (const [what, bytes] of Object.entries(bad)) {
  test(`${what} is refused`, async () => {
    const path = write(bytes);
    await assert.rejects(readSafetensorsHeader(path), (error: { code?: string; message: string }) => {
      assert.equal(error.code, "ERR_FORMAT");
      assert.ok(error.message.startsWith(path), error.message);
      return true;
    });
  });
}

test("a missing file is an IO error", async () => {
  await assert.rejects(readSafetensorsHeader(join(folder, "none")), { code: "ERR_IO" });
});

test("a header that is written is read back, its data at a multiple of eight", async () => {
  const start = safetensorsHeader(
    [
      { name: "a.weight", shape: [2, 3] },
      { name: "b", shape: [] },
    ],
    "BF16",
  );
  assert.equal(start.length % 8, 0);
  const path = write(Buffer.concat([start, Buffer.alloc(14)]));
  assert.deepEqual(await readSafetensorsHeader(path), [
    { name: "a.weight", dtype: "BF16", shape: [2, 3], path, offset: start.length },
    { name: "b", dtype: "BF16", shape: [], path, offset: start.length + 12 },
  ]);
});

test("files collected elsewhere are read or refused as the reference library does, but for keys that stand twice", {
  skip: skipWithoutData,
}, async () => {
  const files = sharedData("malformed-safetensors");
  const { expected } = JSON.parse(readFileSync(join(files, "expected.json"), "utf8")) as {
    expected: Record<string, string>;
  };
  for (const [name, outcome] of Object.entries(expected)) {
    const reading = readSafetensorsHeader(join(files, `${name}.safetensors`));
    if (outcome === "ok" && name !== "bad_duplicate_key") await assert.doesNotReject(reading, name);
    else await assert.rejects(reading, { code: "ERR_FORMAT" }, name);
  }
});

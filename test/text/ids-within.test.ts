/** Texts are encoded as far as their length says something. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { idsWithin } from "../../lib/text/tokenizers/ids-within.ts";

/** One token for so many characters. */
function codec(charsPerToken: number) {
  const lengths: number[] = [];
  const encode = (text: string): Int32Array => {
    lengths.push(text.length);
    return new Int32Array(Math.ceil(text.length / charsPerToken));
  };
  return { lengths, encode };
}

test("a text that is far too long is given up at its beginning", () => {
  const { lengths, encode } = codec(4);
  assert.equal(idsWithin("x".repeat(10_000_000), 1000, encode), undefined);
  assert.deepEqual(lengths, [65_536]);
});

test("a text is encoded as a whole where it is short, or has few tokens", () => {
  assert.equal(idsWithin("x".repeat(65_536), 10, codec(1).encode)?.length, 65_536);
  const { lengths, encode } = codec(1000);
  assert.equal(idsWithin("x".repeat(500_000), 1000, encode)?.length, 500);
  assert.deepEqual(lengths, [65_536, 262_144, 500_000]);
});

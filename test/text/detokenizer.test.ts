/** Text that comes in bit by bit. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { Detokenizer } from "../../lib/text/tokenizers/detokenizer.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { expected, goldenText } from "./fixtures.ts";

for (const [name, { ids }] of Object.entries(expected.tokenizers)) {
  test(`${name}: pieces of text put together are the decoded text`, async () => {
    const tokenizer = await Tokenizer.load(join(goldenText, name));
    for (const row of ids) {
      const detokenizer = new Detokenizer(tokenizer);
      const parts = row.map((id) => detokenizer.push([id]));
      assert.equal(parts.join("") + detokenizer.flush(), tokenizer.decode(row));
    }
  });
}

test("a character is held back until its last byte is there", async () => {
  const tokenizer = await Tokenizer.load(join(goldenText, "byte-level"));
  const detokenizer = new Detokenizer(tokenizer);
  const ids = [...tokenizer.encode("😀")];
  assert.equal(ids.length, 4);
  assert.deepEqual(
    ids.map((id) => detokenizer.push([id])),
    ["", "", "", "😀"],
  );
  assert.equal(detokenizer.push(ids.slice(0, 2)), "");
  assert.equal(detokenizer.flush(), "\ufffd");
});

test("marks can be left out", async () => {
  const tokenizer = await Tokenizer.load(join(goldenText, "byte-level"));
  const detokenizer = new Detokenizer(tokenizer, { skipSpecialTokens: true });
  assert.equal(detokenizer.push(tokenizer.encode("<|im_start|>Hi<|im_end|>")), "Hi");
});

/** Tokens that stand in the files beside tokenizer.json, against what transformers makes of them. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../project.ts";
import { withFolder } from "../train/run/kill.ts";

type Files = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
interface Case {
  readonly name: string;
  readonly files: Files;
  readonly refused?: string;
  readonly ids: readonly number[][];
  readonly named: readonly (number | null)[];
  readonly decoded: readonly string[];
}
const path = join(projectRoot, "test/golden/text/added-tokens.json");
const golden = JSON.parse(readFileSync(path, "utf8")) as {
  readonly base: Files["any"];
  readonly texts: readonly string[];
  readonly cases: readonly Case[];
};

async function withTokenizer(files: Files, use: (folder: string) => Promise<void>): Promise<void> {
  await withFolder(async (folder) => {
    const whole = { ...files, "tokenizer.json": { ...golden.base, ...files["tokenizer.json"] } };
    for (const [name, content] of Object.entries(whole))
      await writeFile(join(folder, name), JSON.stringify(content));
    await use(folder);
  });
}

/** Ids that are written otherwise than the tokens get them: transformers goes on with ids of its own. */
const refusedIds: Readonly<Record<string, RegExp>> = {
  "added_tokens_decoder with a gap": /added_tokens_decoder: <\|search\|>: expected id 98, got 102/,
  "added_tokens_decoder gives another token an id": /<\|search\|>: expected id 98, got 97/,
  "added_tokens_decoder gives a token another id": /<\|end\|>: expected id 97, got 98/,
  "added_tokens.json with a gap": /added_tokens\.json: <\|search\|>: expected id 98, got 104/,
};

/** tokenizers 0.23 writes a token that is found in normalised text as it was found, and leaves none of these out. */
const writtenNormalised = [
  "added_tokens_decoder, not special and normalized",
  "special_tokens_map with an object that is normalized",
  "added_tokens.json, one of them named",
  "a normalized token of added_tokens.json at a key of the model's own",
];

for (const { name, files, refused, ids, named, decoded } of golden.cases) {
  if (refused !== undefined) continue;
  const message = refusedIds[name];
  test(`${name}: ${message === undefined ? "the ids are transformers'" : "refused by the token's name"}`, async () => {
    await withTokenizer(files, async (folder) => {
      if (message !== undefined)
        return await assert.rejects(Tokenizer.load(folder), { code: "ERR_FORMAT", message });
      const tokenizer = await Tokenizer.load(folder);
      const encoded = golden.texts.map((text) => [...tokenizer.encode(text)]);
      assert.deepEqual(encoded, ids);
      const { bosId, eosIds, padId } = tokenizer;
      assert.deepEqual([bosId ?? null, eosIds[0] ?? null, padId ?? null], named);
      if (writtenNormalised.includes(name)) return;
      const texts = encoded.map((each) => tokenizer.decode(each, { skipSpecialTokens: true }));
      assert.deepEqual(texts, decoded);
    });
  });
}

test("a token beside tokenizer.json that the weights have no row for is refused by its name, one within where a text has it", async () => {
  const config = { "config.json": { vocab_size: 98 } };
  const added = { "added_tokens.json": { "<|search|>": 98 } };
  await withTokenizer({ ...config, ...added }, async (folder) => {
    const message =
      /added_tokens\.json: <\|search\|>: expected an id that the model has a row for \(0 to 97\), got 98/;
    await assert.rejects(Tokenizer.load(folder), { code: "ERR_FORMAT", message });
  });
  await withTokenizer({ "config.json": { vocab_size: 97 } }, async (folder) => {
    const tokenizer = await Tokenizer.load(folder);
    assert.deepEqual([...tokenizer.encode("ab")], [96]);
    const message = /<\|end\|>: expected an id that the model has a row for \(0 to 96\), got 97/;
    assert.throws(() => tokenizer.encode("ab<|end|>"), { code: "ERR_RANGE", message });
  });
});

/** 2,400 varied texts through every tokenizer, against the reference libraries (test/golden/text/make_differential.py). */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { gunzipSync } from "node:zlib";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";
import { goldenText } from "./fixtures.ts";

/** Eight hexadecimal digits for each text. */
interface Digests {
  readonly ids: string;
  readonly decoded: string;
}

interface Differential {
  readonly texts: readonly string[];
  readonly own: Readonly<Record<string, Digests>>;
  readonly real: Readonly<Record<string, Digests>>;
}

const { texts, own, real } = JSON.parse(
  gunzipSync(readFileSync(join(goldenText, "differential.json.gz"))).toString("utf8"),
) as Differential;

const digest = (value: string): string => createHash("sha256").update(value).digest("hex").slice(0, 8);

async function compare(path: string, expected: Digests): Promise<void> {
  const tokenizer = await Tokenizer.load(path);
  const wrong = texts.filter((text, i) => {
    const ids = tokenizer.encode(text);
    const at = expected.ids.slice(8 * i, 8 * i + 8);
    // What is not UTF-8 is written otherwise than by the reference: U+FFFD once for each wrong sequence.
    const decoded = tokenizer.decode(ids);
    const isSame = decoded.includes("\ufffd") || digest(decoded) === expected.decoded.slice(8 * i, 8 * i + 8);
    return digest(ids.join(",")) !== at || !isSame;
  });
  assert.equal(texts.length, 2400);
  assert.deepEqual(wrong, []);
}

for (const [name, expected] of Object.entries(own)) {
  test(`${name} gives the reference's ids and text for 2,400 texts`, () =>
    compare(join(goldenText, name), expected));
}

for (const [name, expected] of Object.entries(real)) {
  test(`the real ${name} gives the reference's ids and text for 2,400 texts`, { skip: skipWithoutData }, () =>
    compare(sharedData("tokenizers", name), expected),
  );
}

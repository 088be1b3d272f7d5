/** Every key that a config.json of a supported architecture may hold, against what transformers computes with it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parseConfig } from "../../lib/model/config/parse-config.ts";
import { projectRoot } from "../project.ts";

interface Row {
  readonly key: string;
  readonly value: unknown;
  readonly usual: boolean;
  readonly effect: "same" | "different" | "refused";
}
interface Measured {
  readonly architecture: string;
  readonly file: Record<string, unknown>;
  readonly saved: Record<string, unknown>;
  readonly rows: readonly Row[];
}
const path = join(projectRoot, "test/golden/model/config-keys.json");
const golden: Measured[] = JSON.parse(readFileSync(path, "utf8"));

const parse = (file: object) => parseConfig(file, "config.json");

for (const { architecture, file, saved, rows } of golden) {
  const base = parse(file);

  test(`${architecture}: the config.json that transformers writes is read`, () => {
    assert.deepEqual(parse(saved), base);
  });

  test(`${architecture}: a key at its usual value changes nothing`, () => {
    const usual = rows.filter((row) => row.usual);
    assert.ok(usual.length > 60);
    for (const { key, value, effect } of usual) {
      assert.equal(effect, "same", key);
      assert.deepEqual(parse({ ...file, [key]: value }), base, key);
    }
  });

  test(`${architecture}: a key that changes what transformers computes is read or refused`, () => {
    const changing = rows.filter(({ effect }) => effect === "different");
    assert.ok(changing.length > 10);
    for (const { key, value } of changing) {
      const read = () => parse({ ...file, [key]: value });
      assert.throws(() => assert.deepEqual(read(), base), `${key} is read over`);
    }
  });
}

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

const fileOf = (name: string) => golden.find(({ architecture }) => architecture === name)?.file ?? {};

/** None of these keys is in transformers' sources of the architecture, so each may only repeat what is computed anyway. */
const repeats: readonly (readonly [string, object, object])[] = [
  ["Qwen3ForCausalLM", { use_qk_norm: true }, { use_qk_norm: "true" }],
  ["Gemma3ForCausalLM", { use_qk_norm: true }, { use_qk_norm: 1 }],
  ["Qwen2ForCausalLM", { qkv_bias: true }, { qkv_bias: 2 }],
  ["MistralForCausalLM", { sliding_window_size: 8 }, { sliding_window_size: 4 }],
];

for (const [name, same, other] of repeats) {
  const [key = ""] = Object.keys(same);
  test(`${name}: ${key} may repeat what the model does, and say nothing else`, () => {
    const file = fileOf(name);
    assert.deepEqual(parse({ ...file, ...same }), parse(file));
    assert.throws(() => parse({ ...file, ...other }), { code: "ERR_FORMAT", message: new RegExp(key) });
  });
}

test("a key of what the family has not is refused", () => {
  const added = [
    { use_qk_norm: true },
    { qkv_bias: true },
    { sliding_window_size: 8 },
    { activation: "gelu" },
  ];
  for (const each of [...added, { shared_expert_intermediate_size: 64 }]) {
    const [key = ""] = Object.keys(each);
    const refusal = { code: "ERR_FORMAT", message: new RegExp(key) };
    assert.throws(() => parse({ ...fileOf("LlamaForCausalLM"), ...each }), refusal);
  }
});

test("attn_factor and finetuned in rope scaling are read over, as transformers does", () => {
  const file = fileOf("LlamaForCausalLM");
  const rope_scaling = { rope_type: "yarn", factor: 4, original_max_position_embeddings: 16 };
  const more = { ...rope_scaling, attn_factor: 2, finetuned: true };
  assert.deepEqual(parse({ ...file, rope_scaling: more }), parse({ ...file, rope_scaling }));
});

/** The modules of an adapter's adapter_config.json, against those that peft finds. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Adapter } from "../../lib/model/adapter.ts";
import type { DecoderShape } from "../../lib/model/config/config.ts";
import { Model } from "../../lib/model/model.ts";
import { projectRoot } from "../project.ts";
import { withFolder } from "../train/run/kill.ts";

interface Case {
  readonly model: "llama" | "phi3";
  readonly rules: Readonly<Record<string, unknown>>;
  readonly modules: readonly string[] | null;
}
const golden: Case[] = JSON.parse(readFileSync(join(projectRoot, "test/golden/lora/targets.json"), "utf8"));

const sizes = { vocabSize: 32, hiddenSize: 16, intermediateSize: 24, numHeads: 2, numKvHeads: 1 };
const shapes: Readonly<Record<Case["model"], DecoderShape>> = {
  llama: { architecture: "LlamaForCausalLM", ...sizes, numLayers: 12 },
  phi3: { architecture: "Phi3ForCausalLM", ...sizes, numLayers: 2 },
};
/** Parts of a fused module, which are projections of their own here. */
const parts: Readonly<Record<string, readonly string[]>> = {
  qkv_proj: ["q_proj", "k_proj", "v_proj"],
  gate_up_proj: ["gate_proj", "up_proj"],
};
const projectionsOf = (module: string): string[] => {
  const [, before = "", last = ""] = /^(.*\.)(.*)$/.exec(module) ?? [];
  return (parts[last] ?? [last]).map((name) => before + name);
};
const modulesOf = (adapter: Adapter): string[] =>
  adapter.handle.tensors().flatMap(({ name }) => name.match(/^base_model\.model\.(.*)\.lora_A/)?.[1] ?? []);

/** An adapter of some projections in a folder, whose configuration says something else of them. */
async function withAdapter(
  model: Model,
  { targets, rules }: { readonly targets: readonly string[]; readonly rules: Case["rules"] },
  use: (folder: string) => Promise<void>,
): Promise<void> {
  await withFolder(async (folder) => {
    await using saved = await Adapter.create(model, { rank: 2, targets });
    await saved.save(folder);
    const path = join(folder, "adapter_config.json");
    const config = JSON.parse(await readFile(path, "utf8"));
    await writeFile(path, JSON.stringify({ ...config, peft_type: "LORA", ...rules }));
    await use(folder);
  });
}

for (const { model: name, rules, modules } of golden) {
  const isOurs = modules?.every((module) => module.startsWith("model.layers.")) === true;
  const outcome = isOurs ? `means ${modules?.length} modules` : "is refused";
  test(`${name} with ${JSON.stringify(rules)} ${outcome}`, async () => {
    await using model = await Model.create(shapes[name]);
    const targets = isOurs ? (modules ?? []).flatMap(projectionsOf) : ["q_proj"];
    await withAdapter(model, { targets, rules }, async (folder) => {
      if (!isOurs)
        return await assert.rejects(
          Adapter.load(model, folder),
          ({ code, message }: { code?: string; message: string }) =>
            /ERR_FORMAT|ERR_ARGUMENT/.test(code ?? "") && /target_modules/.test(message),
        );
      await using adapter = await Adapter.load(model, folder);
      assert.deepEqual(modulesOf(adapter).sort(), targets.toSorted());
      await withFolder(async (copy) => {
        await adapter.save(copy);
        await using again = await Adapter.load(model, copy);
        assert.deepEqual(modulesOf(again), modulesOf(adapter));
      });
    });
  });
}

test("tensors of a module that target_modules does not mean are refused by its name, and so are missing ones", async () => {
  await using model = await Model.create(shapes.llama);
  const refuses = async (
    targets: readonly string[],
    rules: Case["rules"],
    message: RegExp,
  ): Promise<void> => {
    await withAdapter(model, { targets, rules }, async (folder) => {
      await assert.rejects(Adapter.load(model, folder), { code: "ERR_FORMAT", message });
    });
  };
  await refuses(
    ["q_proj", "v_proj"],
    { target_modules: ".*q_proj" },
    /got some of model\.layers\.0\.self_attn\.v_proj/,
  );
  await refuses(
    ["q_proj"],
    { target_modules: ["q_proj"], exclude_modules: ["0.self_attn.q_proj"] },
    /layers\.0/,
  );
  await refuses(["q_proj"], { target_modules: ".*[qv]_proj" }, /missing tensor .*v_proj/);
});

test("a pattern that would never end is refused in time", async () => {
  await using model = await Model.create(shapes.llama);
  const rules = { target_modules: "(\\w|\\.|[a-z])+(\\w|\\.|[a-z])+!" };
  await withAdapter(model, { targets: ["q_proj"], rules }, async (folder) => {
    await assert.rejects(Adapter.load(model, folder), { code: "ERR_FORMAT", message: /took over 1000 ms/ });
  });
});

/** What requests have where they do not say it: sampling and variables of the chat template. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { readGenerationSampling } from "../../../apps/serve/model/generation-config.ts";
import { languageModels } from "../../../apps/serve/model/open-models.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { servedWorld } from "./served.ts";

const messages = [{ role: "user" as const, content: "who directed Nightwinter" }];
const sampling = { temperature: 1.4, topK: 12, repetitionPenalty: 1.2 };

test("a request that says nothing draws as the server says, and one that says something as it says", async (t) => {
  const { client, engine, policy, tokenizer } = await servedWorld(t, { models: { sampling } });
  const prompt = policy.chatTemplate?.render(messages, { addGenerationPrompt: true }) ?? "";
  const promptIds = tokenizer.encode(prompt, { beginsText: true });
  for (const [asked, drawn] of [
    [{}, sampling],
    [{ temperature: 0 }, { ...sampling, temperature: 0 }],
    [
      { top_k: 0, temperature: 1 },
      { ...sampling, topK: 0, temperature: 1 },
    ],
  ] as const) {
    const body = { model: "world", messages, max_tokens: 12, seed: 5, return_token_ids: true, ...asked };
    const { choices } = await client.chat.completions.create(body);
    const [choice] = choices as unknown as { token_ids: number[] }[];
    using sequence = engine.open(promptIds, { seed: 5 });
    const span = await sequence.generate({ maxTokens: 12, ...drawn });
    assert.deepEqual(choice?.token_ids, [...span.ids], JSON.stringify(asked));
  }
});

test("what stands for a request is told by responses", async (t) => {
  const { client } = await servedWorld(t, { models: { sampling } });
  const response = await client.responses.create({ model: "world", input: "Hi", max_output_tokens: 16 });
  assert.deepEqual([response.temperature, response.top_p], [1.4, 1]);
});

const template = new ChatTemplate(
  "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}mood: {{ mood }}, {{ pace | default('slow') }}",
);

test("variables of the template stand where a request does not say them, one by one", async (t) => {
  const { url } = await servedWorld(t, {
    models: { chatTemplate: template, templateVariables: { mood: "calm" } },
  });
  const prompt = async (chat_template_kwargs?: object): Promise<string> => {
    const body = JSON.stringify({ messages, chat_template_kwargs });
    const answer = await fetch(`${url}/apply-template`, { method: "POST", body });
    return ((await answer.json()) as { prompt: string }).prompt.split("\n").at(-1) ?? "";
  };
  assert.equal(await prompt(), "mood: calm, slow");
  assert.equal(await prompt({ pace: "fast" }), "mood: calm, fast");
  assert.equal(await prompt({ mood: "wild" }), "mood: wild, slow");
});

test("a sampling and variables that nobody knows are refused when the model is opened", async (t) => {
  const { engine, tokenizer } = await servedWorld(t);
  const parts = { name: "m", engine, tokenizer, chatTemplate: template };
  for (const [options, code, message] of [
    [{ sampling: { temperatur: 1 } }, "ERR_ARGUMENT", /sampling: unknown key "temperatur"/],
    [{ sampling: { topP: 2 } }, "ERR_RANGE", /topP/],
    [{ templateVariables: { moods: 1 } }, "ERR_ARGUMENT", /moods: the chat template reads no such variable/],
    [
      { templateVariables: { mood: 1 }, chatTemplate: undefined },
      "ERR_ARGUMENT",
      /there is no chat template/,
    ],
  ] as const) {
    assert.throws(() => languageModels({ ...parts, ...(options as object) }), { code, message });
  }
});

async function folderWith(t: TestContext, config?: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  t.after(() => rm(folder, { recursive: true }));
  if (config) await writeFile(join(folder, "generation_config.json"), JSON.stringify(config));
  return folder;
}

test("generation_config.json is read as its makers wrote it, and nothing is read where it says nothing", async (t) => {
  // As Qwen3 and Llama 3.2 have it.
  const qwen3 = { do_sample: true, eos_token_id: [151645], temperature: 0.6, top_k: 20, top_p: 0.95 };
  const read = async (config?: object) => readGenerationSampling(await folderWith(t, config));
  assert.deepEqual(await read(qwen3), { temperature: 0.6, topK: 20, topP: 0.95 });
  assert.deepEqual(await read({ repetition_penalty: 1.05, top_k: -1, min_p: null }), {
    ...{ repetitionPenalty: 1.05, topK: 0 },
  });
  assert.deepEqual([await read({ max_new_tokens: 2048 }), await read()], [{}, {}]);
  await assert.rejects(read({ top_p: 3 }), { code: "ERR_RANGE", message: /generation_config.json: topP/ });
  await assert.rejects(read({ top_p: "much" }), { code: "ERR_FORMAT" });
});

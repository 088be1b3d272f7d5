/** llama.cpp's own completions. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { llamaRoutes } from "../../../apps/serve/api/llama/routes.ts";
import type { ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../../project.ts";
import { get, post } from "../doubles.ts";
import { type ReplayedModel, replaying, say, servedRoutes, servingOf, whole } from "./doubles.ts";

const tokenizer = await Tokenizer.load(join(projectRoot, "test/golden/text/bpe.model"));
const chatTemplate = "{{ messages[0].content }}";
const text = {
  tokenizer,
  chatTemplate,
  maxSequences: 16,
  prompt: async () => "",
  promptIds: async () => new Int32Array(0),
};

async function served(t: TestContext) {
  const model: ReplayedModel = replaying(whole([say("Hi"), say(" you\n")], { reason: "length" }), { text });
  return { model, server: await servedRoutes(t, llamaRoutes(servingOf([model]))) };
}

interface Completion {
  readonly content: string;
  readonly tokens: number[];
  readonly timings: Record<string, number>;
  readonly [key: string]: unknown;
}

test("a completion tells its text, why it ended and how long its parts took", async (t) => {
  const { server, model } = await served(t);
  const { json } = await post(server, "/completion", { prompt: "Hello", n_predict: 5, return_tokens: true });
  const { content, tokens, timings, ...rest } = json as Completion;
  assert.deepEqual([content, tokens], ["Hi you\n", [7, 7]]);
  assert.deepEqual(
    [rest.stop, rest.stop_type, rest.has_new_line, rest.truncated],
    [true, "limit", true, false],
  );
  assert.deepEqual([timings.prompt_n, timings.cache_n, timings.predicted_n], [4, 8, 5]);
  const [request] = model.asked;
  assert.deepEqual([...(request?.promptIds ?? [])], [...tokenizer.encode("Hello", { beginsText: true })]);
  assert.equal(request?.maxTokens, 5);
});

test("a stream's pieces add up, and its end has no text of its own", async (t) => {
  const { server } = await served(t);
  const { text: lines } = await post(server, "/completion", { prompt: "Hello", stream: true });
  const events = [...lines.matchAll(/^data: (.*)$/gm)].map(([, data = ""]) => JSON.parse(data) as Completion);
  assert.deepEqual(
    events.map(({ content, tokens, stop }) => [content, tokens, stop]),
    [
      ["Hi", [7], false],
      [" you\n", [7], false],
      ["", [], true],
    ],
  );
});

test("several prompts have several answers, and texts and ids may be mixed in one", async (t) => {
  const { server, model } = await served(t);
  const { json } = await post(server, "/completion", { prompt: ["a", [5, 6], { prompt_string: "a" }] });
  assert.deepEqual(
    (json as Completion[]).map(({ index }) => index),
    [0, 1, 2],
  );
  const [a, b, c] = model.asked.map(({ promptIds }) => [...(promptIds ?? [])]);
  assert.deepEqual([a, b, c], [c, [5, 6], a]);
  await post(server, "/completion", { prompt: [5, "a", 6] });
  assert.deepEqual([...(model.asked[3]?.promptIds ?? [])], [5, ...tokenizer.encode("a"), 6]);
});

test("a bias on a text is one on each of its tokens, in either form, and false forbids", async (t) => {
  const { server, model } = await served(t);
  for (const logit_bias of [
    [
      ["a", false],
      [7, -5],
    ],
    { a: false, 7: -5 },
  ]) {
    await post(server, "/completion", { prompt: "a", logit_bias, repeat_penalty: 1.1 });
    const expected = Object.fromEntries([...tokenizer.encode("a")].map((each) => [each, -Infinity]));
    assert.deepEqual(model.asked.at(-1)?.sampling, {
      repetitionPenalty: 1.1,
      logitBias: { ...expected, 7: -5 },
    });
  }
});

test("only the fields that were asked for are told, and what is not served is refused by name", async (t) => {
  const { server } = await served(t);
  const response_fields = ["content", "generation_settings/n_predict"];
  const { json } = await post(server, "/completion", { prompt: "a", n_predict: 3, response_fields });
  assert.deepEqual(json, { content: "Hi you\n", "generation_settings/n_predict": 3 });
  for (const body of [{ prompt: "a", post_sampling_probs: true }, { prompt: [1e9] }, {}]) {
    assert.equal((await post(server, "/completion", body)).status, 400, JSON.stringify(body));
  }
});

test("properties tell a client what it may ask, and no file of the server", async (t) => {
  const { server } = await served(t);
  const { json } = await get(server, "/props");
  const { default_generation_settings, ...props } = json as {
    default_generation_settings: { n_ctx: number; params: Record<string, unknown> };
  };
  assert.deepEqual(props, {
    ...{ total_slots: 16, model_alias: "small", chat_template: chatTemplate },
    ...{ modalities: { vision: false, audio: false }, bos_token: "<s>", eos_token: "</s>" },
  });
  const { n_ctx, params } = default_generation_settings;
  assert.deepEqual([n_ctx, params.seed, params.temperature, params.n_predict], [512, -1, 1, -1]);
  assert.equal((await get(server, "/props?model=other")).status, 404);
});

test("probabilities stand beside each token as llama.cpp's server writes them", async (t) => {
  const top = [
    { id: 7, logprob: -0.5, bytes: Buffer.from("H") },
    { id: 9, logprob: Number.NEGATIVE_INFINITY, bytes: Buffer.from([0xc3]) },
  ];
  const piece = { type: "text", choice: 0, text: "H", tokens: [{ ...top[0], top }] } as ReplyEvent;
  const model = replaying(whole([piece]), { text });
  const server = await servedRoutes(t, llamaRoutes(servingOf([model])));
  const expected = {
    ...{ id: 7, token: "H", bytes: [72], logprob: -0.5 },
    top_logprobs: [
      { id: 7, token: "H", bytes: [72], logprob: -0.5 },
      { id: 9, token: "\ufffd", bytes: [0xc3], logprob: -9999 },
    ],
  };
  const { json } = await post(server, "/completion", { prompt: "a", n_probs: 2 });
  assert.deepEqual((json as Completion).completion_probabilities, [expected]);
  assert.equal(model.asked[0]?.topLogprobs, 2);
  const { text: lines } = await post(server, "/completion", { prompt: "a", n_probs: 2, stream: true });
  const [first] = [...lines.matchAll(/^data: (.*)$/gm)].map(
    ([, data = ""]) => JSON.parse(data) as Completion,
  );
  assert.deepEqual(first?.completion_probabilities, [expected]);
});

/** Tokens, prompts and models, as llama.cpp's, vLLM's, OpenAI's and Anthropic's clients ask for them. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { textRoutes } from "../../../apps/serve/api/texts/routes.ts";
import type { HttpServer } from "../../../apps/serve/http/http-server.ts";
import type { Conversation, ModelText, PromptOptions } from "../../../apps/serve/reply/reply.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../../project.ts";
import { get, post } from "../doubles.ts";
import { replaying, servedRoutes, servingOf } from "./doubles.ts";

const tokenizer = await Tokenizer.load(join(projectRoot, "test/golden/text/bpe.model"));
const template = new ChatTemplate(
  "{% if tools %}[{{ tools[0].function.name }}]{% endif %}" +
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}</{{ m.role }}>{% endfor %}" +
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking is defined %}!{% endif %}{% endif %}",
);
const promptOf = (
  { messages, tools, templateVariables }: Conversation,
  { addGenerationPrompt = true }: PromptOptions = {},
): string =>
  template.render(messages, {
    addGenerationPrompt,
    variables: templateVariables ?? {},
    ...(tools.length > 0 ? { tools: tools.map((each) => ({ type: "function", function: each })) } : {}),
  });
const text: ModelText = {
  tokenizer,
  maxSequences: 4,
  prompt: async (conversation, options) => promptOf(conversation, options),
  promptIds: async (conversation, { beginsText = true, ...options } = {}) =>
    tokenizer.encode(promptOf(conversation, options), { beginsText }),
};

async function served(t: TestContext): Promise<HttpServer> {
  const models = [replaying([], { text }), replaying([], { id: "agent/rag" })];
  return servedRoutes(t, textRoutes(servingOf(models)));
}

const sentence = "What is the capital of France ?";

test("a text becomes the tokenizer's ids, and they become the text", async (t) => {
  const server = await served(t);
  const { json } = await post(server, "/tokenize", { content: sentence });
  const { tokens, count, max_model_len } = json as { tokens: number[]; count: number; max_model_len: number };
  assert.deepEqual(tokens, [...tokenizer.encode(sentence)]);
  assert.deepEqual([count, max_model_len], [tokens.length, 512]);
  const back = await post(server, "/detokenize", { tokens });
  assert.deepEqual(back.json, { content: sentence, prompt: sentence });
});

test("marks stand around vLLM's prompt, and around llama.cpp's content where it is said", async (t) => {
  const server = await served(t);
  const ids = async (body: object): Promise<number[]> =>
    ((await post(server, "/tokenize", body)).json as { tokens: number[] }).tokens;
  const [bare, marked] = [tokenizer.encode("Hi"), tokenizer.encode("Hi", { addSpecialTokens: true })];
  assert.notEqual(bare.length, marked.length);
  assert.deepEqual(await ids({ content: "Hi" }), [...bare]);
  assert.deepEqual(await ids({ content: "Hi", add_special: true }), [...marked]);
  assert.deepEqual(await ids({ prompt: "Hi" }), [...marked]);
  assert.deepEqual(await ids({ prompt: "Hi", add_special_tokens: false }), [...bare]);
});

test("pieces are texts, or bytes where a character has several tokens", async (t) => {
  const server = await served(t);
  const { json } = await post(server, "/tokenize", { content: "a 媽 🤗", with_pieces: true });
  const { tokens } = json as { tokens: { id: number; piece: string | number[] }[] };
  const bytes = tokens.map(({ piece }) => Buffer.from(piece as string));
  assert.equal(Buffer.concat(bytes).toString().trimStart(), "a 媽 🤗");
  assert.ok(tokens.some(({ piece }) => Array.isArray(piece)));
  assert.ok(tokens.every(({ piece }) => piece.length > 0));
});

const messages = [
  { role: "system", content: "Be brief." },
  { role: "user", content: [{ type: "text", text: "Hi" }] },
];

test("a conversation is written as the model reads it", async (t) => {
  const server = await served(t);
  const prompt = async (body: object): Promise<string> =>
    ((await post(server, "/apply-template", { messages, ...body })).json as { prompt: string }).prompt;
  const written = "<system>Be brief.</system><user>Hi</user>";
  assert.equal(await prompt({}), `${written}<assistant>`);
  assert.equal(await prompt({ tools: [] }), `${written}<assistant>`);
  assert.equal(await prompt({ add_generation_prompt: false }), written);
  assert.equal(await prompt({ chat_template_kwargs: { enable_thinking: false } }), `${written}<assistant>!`);
  const tools = [{ type: "function", function: { name: "look" } }];
  assert.equal(await prompt({ tools }), `[look]${written}<assistant>`);
  const { json } = await post(server, "/tokenize", { messages });
  assert.deepEqual((json as { tokens: number[] }).tokens, [
    ...tokenizer.encode(`${written}<assistant>`, { beginsText: true }),
  ]);
});

test("models are listed and found by name, for OpenAI's and Anthropic's clients", async (t) => {
  const { url } = await served(t);
  const openai = new OpenAI({ baseURL: `${url}/v1`, apiKey: "any", maxRetries: 0 });
  const ids: string[] = [];
  for await (const { id, object } of openai.models.list()) ids.push(`${object} ${id}`);
  assert.deepEqual(ids, ["model small", "model agent/rag"]);
  assert.equal((await openai.models.retrieve("agent/rag")).id, "agent/rag");
  await assert.rejects(openai.models.retrieve("other"), OpenAI.NotFoundError);
  const anthropic = new Anthropic({ baseURL: url, apiKey: "any", maxRetries: 0 });
  const listed = await anthropic.models.list();
  assert.deepEqual(
    listed.data.map(({ id, type }) => [id, type]),
    [
      ["small", "model"],
      ["agent/rag", "model"],
    ],
  );
  const { json } = await get({ url }, "/v1/models/small");
  assert.equal((json as { max_model_len: number }).max_model_len, 512);
});

test("health needs no model, and what is wrong is refused by its name", async (t) => {
  const server = await served(t);
  assert.deepEqual((await get(server, "/health")).json, { status: "ok" });
  const wrong: [string, object, RegExp][] = [
    ["/tokenize", {}, /content: expected one of content, prompt and messages, got 0/],
    ["/tokenize", { content: "a", prompt: "b" }, /got 2/],
    ["/tokenize", { content: "a", colour: 1 }, /colour/],
    ["/tokenize", { content: "a", model: "agent/rag" }, /model: expected a language model, got agent\/rag/],
    ["/detokenize", { tokens: [1, 1e6] }, /tokens\[1\]: expected an id from 0 to \d+, got 1000000/],
    ["/apply-template", { messages: [] }, /messages/],
    [
      "/apply-template",
      { messages, continue_final_message: true, add_generation_prompt: true },
      /add_generation_prompt: false/,
    ],
  ];
  for (const [path, body, message] of wrong) {
    const { status, json } = await post(server, path, body);
    assert.equal(status, 400, `${path} ${JSON.stringify(body)}`);
    assert.match((json as { error: { message: string } }).error.message, message);
  }
});

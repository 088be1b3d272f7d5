/** Replies that go on with a message which the client has begun, in OpenAI's form with vLLM's fields and in Anthropic's. */
import assert from "node:assert/strict";
import { test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import type OpenAI from "openai";
import { servedWorld } from "./served.ts";

const user = { role: "user", content: "who directed Nightwinter" } as const;
const continued = { continue_final_message: true, add_generation_prompt: false };

/** The fields are not OpenAI's, whose client sends them as they are. */
const asked = (begun: string, fields: object = continued) => {
  const messages = [user, { role: "assistant" as const, content: begun }];
  const body = { model: "world", max_tokens: 16, temperature: 0, messages, return_token_ids: true };
  return { ...body, ...fields } as OpenAI.ChatCompletionCreateParamsNonStreaming;
};

test("a message that was begun goes on as the engine goes on after its last token", async (t) => {
  const { client, engine, tokenizer, policy, url } = await servedWorld(t);
  const begun = "the director of Night";
  const reply = await client.chat.completions.create(asked(begun));
  // The prompt of the whole conversation, as far as the words that were begun.
  const turns = [user, { role: "assistant", content: begun }];
  const whole = policy.chatTemplate?.render(turns) ?? "";
  const prompt = whole.slice(0, whole.lastIndexOf(begun) + begun.length);
  const promptIds = tokenizer.encode(prompt, { beginsText: true });
  const { prompt_token_ids, choices } = reply as unknown as {
    prompt_token_ids: number[];
    choices: { token_ids: number[]; message: { content: string } }[];
  };
  assert.deepEqual(prompt_token_ids, [...promptIds]);
  for (const path of ["/apply-template", "/tokenize"]) {
    const body = JSON.stringify({ messages: turns, continue_final_message: true });
    const answer = await fetch(`${url}${path}`, { method: "POST", body });
    const told = (await answer.json()) as { prompt?: string; tokens?: number[] };
    assert.deepEqual(told.prompt ?? told.tokens, told.prompt ? prompt : [...promptIds]);
  }
  using sequence = engine.open(promptIds);
  const span = await sequence.generate({ maxTokens: 16, temperature: 0 });
  assert.deepEqual(choices[0]?.token_ids, [...span.ids]);
});

test("what was said goes on to the same end from wherever it was cut", async (t) => {
  const { client, url } = await servedWorld(t);
  const anthropic = new Anthropic({ apiKey: "any", baseURL: url, maxRetries: 0 });
  const free = await client.chat.completions.create({ ...asked("", {}), messages: [user] });
  const said = free.choices[0]?.message.content ?? "";
  const words = said.split(/(?= )/);
  assert.ok(words.length > 3, said);
  for (let n = 1; n < words.length; n++) {
    const begun = words.slice(0, n).join("");
    const rest = words.slice(n).join("");
    const { choices } = await client.chat.completions.create(asked(begun));
    assert.equal(choices[0]?.message.content?.slice(0, rest.length), rest);
    const stream = anthropic.messages.stream({
      ...{ model: "world", max_tokens: 16, temperature: 0 },
      messages: [user, { role: "assistant", content: begun }],
    });
    assert.equal((await stream.finalText()).slice(0, rest.length), rest);
  }
});

test("a message that cannot go on is refused by the field's name", async (t) => {
  const { url } = await servedWorld(t);
  const call = { id: "call_1", type: "function", function: { name: "look", arguments: "{}" } };
  const refused: [object, string, RegExp][] = [
    [{ add_generation_prompt: true }, "continue_final_message", /add_generation_prompt: false/],
    [{ continue_final_message: false }, "add_generation_prompt", /continue_final_message: true/],
    [{ messages: [user] }, "messages", /assistant's.*got user/],
    [{ messages: [user, { role: "assistant", tool_calls: [call] }] }, "messages", /got one with tool_calls/],
  ];
  for (const [fields, param, message] of refused) {
    const body = JSON.stringify({ ...asked("It is"), ...fields });
    const answer = await fetch(`${url}/v1/chat/completions`, { method: "POST", body });
    const { error } = (await answer.json()) as { error: { param: string; message: string } };
    assert.deepEqual([answer.status, error.param], [400, param], error.message);
    assert.match(error.message, message);
  }
});

test("Anthropic's bounds on what was begun hold here too", async (t) => {
  const { url } = await servedWorld(t);
  const client = new Anthropic({ apiKey: "any", baseURL: url, maxRetries: 0 });
  const body = {
    model: "world",
    max_tokens: 2000,
    messages: [user],
  } as Anthropic.MessageCreateParamsNonStreaming;
  const ending = (content: Anthropic.MessageParam["content"], fields: object = {}) =>
    client.messages.create({ ...body, ...fields, messages: [user, { role: "assistant", content }] });
  const schema = { type: "object" };
  const refused: [ReturnType<typeof ending>, RegExp][] = [
    [ending("It is "), /messages\[1\].content\[0\]: expected no white space/],
    [ending("It is", { thinking: { type: "enabled", budget_tokens: 1024 } }), /beside thinking/],
    [ending("{", { output_config: { format: { type: "json_schema", schema } } }), /output_config.format/],
    [ending([{ type: "thinking", thinking: "Hm", signature: "" }]), /expected text at the end, got thinking/],
    [ending([{ type: "tool_use", id: "a", name: "look", input: {} }]), /expected a tool_result behind it/],
  ];
  for (const [asking, message] of refused) await assert.rejects(asking, { status: 400, message });
});

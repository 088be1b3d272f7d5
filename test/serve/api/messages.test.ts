/** Anthropic's protocol, asked by Anthropic's own client. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import type { ServedModel } from "../../../apps/serve/reply/reply.ts";
import { post } from "../doubles.ts";
import { clientOf, hello } from "./anthropic.ts";
import { type ReplayedModel, replaying, say, whole } from "./doubles.ts";

const weather: Anthropic.Tool = {
  name: "get_weather",
  description: "Weather of a city",
  input_schema: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
};

const calling = whole(
  [
    say("Let me look."),
    { type: "toolCall", choice: 0, index: 0, id: "call_1", name: "get_weather" },
    { type: "toolArguments", choice: 0, index: 0, text: '{"city":', tokens: [] },
    { type: "toolArguments", choice: 0, index: 0, text: '"Rome"}', tokens: [] },
    { type: "toolCall", choice: 0, index: 1, id: "call_2", name: "get_weather" },
    { type: "toolArguments", choice: 0, index: 1, text: '{"city":"Oslo"}', tokens: [] },
  ],
  { reason: "tool_calls" },
);

test("a message has text, stop reason and usage, with cached tokens beside the others", async (t) => {
  const model = replaying(whole([say("Hi"), say(" there")]));
  const { client } = await clientOf(t, model);
  const message = await client.messages.create(hello);
  assert.match(message.id, /^msg_\w{32}$/);
  assert.match(message._request_id ?? "", /^[\w-]+$/);
  assert.deepEqual([message.type, message.role, message.model], ["message", "assistant", "small"]);
  assert.deepEqual(message.content, [{ type: "text", text: "Hi there" }]);
  assert.deepEqual([message.stop_reason, message.stop_sequence], ["end_turn", null]);
  assert.deepEqual(message.usage, {
    input_tokens: 4,
    cache_creation_input_tokens: 0,
    cache_read_input_tokens: 8,
    output_tokens: 5,
    output_tokens_details: { thinking_tokens: 2 },
  });
});

test("each end of a reply has its stop reason", async (t) => {
  const stopped = async (end: Parameters<typeof whole>[1]) => {
    const { client } = await clientOf(t, replaying(whole([say("a")], end)));
    const { stop_reason, stop_sequence } = await client.messages.create(hello);
    return [stop_reason, stop_sequence];
  };
  assert.deepEqual(await stopped({ reason: "length" }), ["max_tokens", null]);
  assert.deepEqual(await stopped({ stopText: "END" }), ["stop_sequence", "END"]);
  assert.deepEqual(await stopped({ reason: "tool_calls" }), ["tool_use", null]);
});

test("a stream's events add up to the message that is answered without one", async (t) => {
  const { client } = await clientOf(t, replaying(whole([say("hm", "reasoning"), ...calling.slice(1, -1)])));
  const streamed = await client.messages.stream(hello).finalMessage();
  const answered = await client.messages.create(hello);
  assert.deepEqual(streamed.content, answered.content);
  assert.deepEqual(
    answered.content.map(({ type }) => type),
    ["thinking", "text", "tool_use", "tool_use"],
  );
  assert.deepEqual(streamed.usage, answered.usage);
});

test("a stream names its events in Anthropic's order, each block begun and ended", async (t) => {
  const { server } = await clientOf(t, replaying(whole([say("hm", "reasoning"), say("Hi")])));
  const { text } = await post(server, "/v1/messages", { ...hello, stream: true });
  assert.deepEqual(
    [...text.matchAll(/^event: (\w+)$/gm)].map(([, name]) => name),
    [
      ...["message_start", "ping"],
      ...["content_block_start", "content_block_delta", "content_block_stop"],
      ...["content_block_start", "content_block_delta", "content_block_stop"],
      ...["message_delta", "message_stop"],
    ],
  );
});

test("calls are tool_use blocks whose input is an object, and their names and ids are the model's", async (t) => {
  const { client } = await clientOf(t, replaying(calling));
  const { content, stop_reason } = await client.messages.create({ ...hello, tools: [weather] });
  assert.equal(stop_reason, "tool_use");
  assert.deepEqual(content.slice(1), [
    { type: "tool_use", id: "call_1", name: "get_weather", input: { city: "Rome" } },
    { type: "tool_use", id: "call_2", name: "get_weather", input: { city: "Oslo" } },
  ]);
});

const asked = async (t: TestContext, params: object): Promise<ReplayedModel["asked"][number]> => {
  const model = replaying(whole([say("ok")]));
  const { client } = await clientOf(t, model);
  await client.messages.create({ ...hello, ...params });
  return model.asked[0] as ReplayedModel["asked"][number];
};

test("every field reaches the model under the engine's name", async (t) => {
  const request = await asked(t, {
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stop_sequences: ["END"],
    tools: [{ ...weather, strict: true }],
    tool_choice: { type: "any", disable_parallel_tool_use: true },
    thinking: { type: "disabled" },
    output_config: { effort: "low", format: { type: "json_schema", schema: { type: "object" } } },
    metadata: { user_id: "someone" },
  });
  assert.deepEqual(request.sampling, { temperature: 0.5, topP: 0.9, topK: 40 });
  assert.deepEqual([request.maxTokens, request.stop, request.n], [20, ["END"], 1]);
  assert.deepEqual(request.tools, [
    {
      ...{ name: "get_weather", description: "Weather of a city", strict: true },
      parameters: weather.input_schema,
    },
  ]);
  assert.deepEqual([request.toolChoice, request.parallelToolCalls], ["required", false]);
  assert.deepEqual(request.templateVariables, { enable_thinking: false, reasoning_effort: "low" });
  assert.deepEqual(request.constraint, { jsonSchema: { type: "object" } });
});

test("tool choices are those of the templates", async (t) => {
  const choose = async (tool_choice: object) =>
    (await asked(t, { tools: [weather], tool_choice })).toolChoice;
  assert.equal(await choose({ type: "auto" }), "auto");
  assert.equal(await choose({ type: "none" }), "none");
  assert.deepEqual(await choose({ type: "tool", name: "get_weather" }), { name: "get_weather" });
});

test("a conversation with thoughts, calls and their answers is what chat templates read", async (t) => {
  const { messages } = await asked(t, {
    system: [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: "Weather?" },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "They want weather.", signature: "" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: "a", name: "get_weather", input: { city: "Rome" } },
          { type: "tool_use", id: "b", name: "get_weather", input: { city: "Oslo" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "text", text: "Here:" },
          { type: "tool_result", tool_use_id: "a", content: [{ type: "text", text: "sunny" }] },
          { type: "tool_result", tool_use_id: "b", is_error: true, content: "no such city" },
        ],
      },
      { role: "user", content: "And?" },
    ],
  });
  const call = (id: string, city: string) => {
    return {
      id,
      type: "function",
      function: { name: "get_weather", arguments: JSON.stringify({ city }) },
    };
  };
  assert.deepEqual(messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Weather?" },
    {
      role: "assistant",
      content: "I look.",
      reasoning_content: "They want weather.",
      tool_calls: [call("a", "Rome"), call("b", "Oslo")],
    },
    { role: "tool", tool_call_id: "a", name: "get_weather", content: "sunny" },
    { role: "tool", tool_call_id: "b", name: "get_weather", content: "Error: no such city" },
    { role: "user", content: "Here:\n\nAnd?" },
  ]);
});

test("thoughts are left out where they are not to be shown", async (t) => {
  const { client } = await clientOf(t, replaying(whole([say("secret", "reasoning"), say("Hi")])));
  const thinking = { type: "enabled", budget_tokens: 1024, display: "omitted" } as const;
  const { content } = await client.messages.create({ ...hello, thinking });
  assert.deepEqual(content, [
    { type: "thinking", thinking: "", signature: "" },
    { type: "text", text: "Hi" },
  ]);
});

test("tokens are counted by the prompt that a reply would begin after", async (t) => {
  const seen: unknown[] = [];
  const text = {
    promptIds: (request: unknown) => {
      seen.push(request);
      return new Int32Array(17);
    },
  } as unknown as NonNullable<ServedModel["text"]>;
  const { client } = await clientOf(t, replaying([], { text }), replaying([], { id: "agent/x" }));
  const { max_tokens: _, ...counted } = { ...hello, tools: [weather], system: "Be brief." };
  assert.deepEqual(await client.messages.countTokens(counted), { input_tokens: 17 });
  assert.equal((seen[0] as { messages: unknown[] }).messages.length, 2);
  await assert.rejects(client.messages.countTokens({ ...counted, model: "agent/x" }), /agent/);
});

test("a client that aborts ends the reply", async (t) => {
  let leave = (): void => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  const model = replaying(async function* (_, signal) {
    try {
      yield* whole([say("one")]).slice(0, -1);
      await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    } finally {
      leave();
    }
  });
  const { client } = await clientOf(t, model);
  const stream = client.messages.stream(hello);
  stream.once("text", () => stream.abort());
  await assert.rejects(stream.finalMessage(), Anthropic.APIUserAbortError);
  await left;
});

test("what fails on the way is an event that the client throws", async (t) => {
  const model = replaying(async function* () {
    yield* whole([say("one")]).slice(0, -1);
    throw new Error("secret");
  });
  const { client } = await clientOf(t, model);
  await assert.rejects(client.messages.stream(hello).finalMessage(), (error: Error) => {
    assert.match(error.message, /api_error.*it failed/);
    assert.doesNotMatch(error.message, /secret/);
    return true;
  });
});

const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } };
const refusals: readonly (readonly [object, RegExp])[] = [
  [{ colour: "red" }, /colour/],
  [
    { messages: [{ role: "user", content: [image] }] },
    /messages\[0\]\.content\[0\].*image input is not supported/,
  ],
  [
    { messages: [{ role: "user", content: [{ type: "document" }] }] },
    /expected text or tool_result, got document/,
  ],
  [
    { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: [image] }] }] },
    /content\[0\]\.content\[0\].*image/,
  ],
  [
    { messages: [{ role: "user", content: [{ type: "tool_result", tool_use_id: "x", content: "" }] }] },
    /tool_use_id: expected the id of a tool_use block before it, got x/,
  ],
  [{ tools: [{ type: "bash_20250124", name: "bash" }] }, /tools\[0\].*got bash_20250124/],
  [{ tools: [{ ...weather, loads_late: true }] }, /loads_late/],
  [{ container: "c" }, /container: expected none/],
  [{ mcp_servers: [{ type: "url", url: "http://x", name: "x" }] }, /mcp_servers: expected none/],
  [{ tool_choice: { type: "any" } }, /tool_choice/],
  [{ tool_choice: { type: "tool", name: "other" }, tools: [weather] }, /tool_choice.*get_weather.*other/],
  [{ messages: [] }, /messages/],
  [{ max_tokens: -1 }, /max_tokens/],
  [{ messages: "Hello" }, /messages/],
];

test("what is not served is refused with 400, by its name", async (t) => {
  const { server } = await clientOf(t, replaying([]));
  for (const [change, message] of refusals) {
    const { status, json } = await post(server, "/v1/messages", { ...hello, ...change });
    const { type, error } = json as { type: string; error: { type: string; message: string } };
    assert.deepEqual([status, type, error.type], [400, "error", "invalid_request_error"], `${message}`);
    assert.match(error.message, message);
  }
});

test("Anthropic's search is refused where nothing searches, and an unknown model with 404", async (t) => {
  const text = {} as NonNullable<ServedModel["text"]>;
  const { client } = await clientOf(t, replaying([], { text }));
  const tools = [{ type: "web_search_20250305", name: "web_search" }] as const;
  await assert.rejects(client.messages.create({ ...hello, tools: [...tools] }), /only agents search/);
  await assert.rejects(client.messages.create({ ...hello, model: "x" }), Anthropic.NotFoundError);
});

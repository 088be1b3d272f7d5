/** The Responses protocol, as OpenAI's client speaks it. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { type TestContext, test } from "node:test";
import OpenAI from "openai";
import { responsesRoutes } from "../../../apps/serve/api/responses/routes.ts";
import type { ReplyEvent, ReplyRequest } from "../../../apps/serve/reply/reply.ts";
import { type ReplayedModel, replaying, servedRoutes, servingOf } from "./doubles.ts";
import { called, finish, start, thoughts, words } from "./replies.ts";

const stored = { maxStoredResponses: 100, maxStoredBytes: 1 << 20 };

async function clientOf(t: TestContext, model: ReplayedModel): Promise<OpenAI> {
  const serving = servingOf([model]);
  const routes = responsesRoutes({ ...serving, limits: { ...serving.limits, ...stored } });
  const { url } = await servedRoutes(t, routes);
  return new OpenAI({ baseURL: `${url}/v1`, apiKey: "none", maxRetries: 0 });
}

async function served(t: TestContext, script: (request: ReplyRequest) => ReplyEvent[]) {
  const model = replaying(async function* (request) {
    yield* script(request);
  });
  return { client: await clientOf(t, model), model };
}

const weather = {
  type: "function" as const,
  name: "weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  strict: true,
};

test("a text is answered with a message", async (t) => {
  const { client, model } = await served(t, () => [start, ...words("Hel", "lo"), finish()]);
  const response = await client.responses.create({
    model: "small",
    instructions: "Be brief.",
    input: "Hi",
    temperature: 0.5,
    max_output_tokens: 20,
    metadata: { topic: "greeting" },
  });
  assert.equal(response.output_text, "Hello");
  assert.equal(response.status, "completed");
  assert.deepEqual(response.usage, {
    input_tokens: 7,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 3 },
    total_tokens: 16,
  });
  assert.deepEqual([response.temperature, response.metadata], [0.5, { topic: "greeting" }]);
  const [asked] = model.asked;
  assert.deepEqual(asked?.messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hi" },
  ]);
  assert.deepEqual([asked?.sampling, asked?.maxTokens], [{ temperature: 0.5 }, 20]);
});

test("a stream adds up to the response that ends it", async (t) => {
  const { client } = await served(t, () => [
    start,
    ...thoughts("I ", "see"),
    ...words("Hel", "lo"),
    finish(),
  ]);
  const stream = client.responses.stream({ model: "small", input: "Hi" });
  const types: string[] = [];
  let text = "";
  for await (const event of stream) {
    types.push(event.type);
    if (event.type === "response.output_text.delta") text += event.delta;
  }
  const response = await stream.finalResponse();
  assert.equal(text, "Hello");
  assert.equal(response.output_text, "Hello");
  assert.deepEqual(types.slice(0, 3), [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
  ]);
  assert.equal(types.at(-1), "response.completed");
  const [reasoning] = response.output;
  assert.ok(reasoning?.type === "reasoning");
  assert.deepEqual(reasoning.content, [{ type: "reasoning_text", text: "I see" }]);
});

test("functions are called, and what they gave is read", async (t) => {
  const first = called({ index: 0, id: "call_a", name: "weather" }, '{"city":', '"Bonn"}');
  const second = called({ index: 1, id: "call_b", name: "weather" }, '{"city":"Rome"}');
  const { client, model } = await served(t, ({ messages }) =>
    messages.at(-1)?.role === "tool"
      ? [start, ...words("Rain and sun"), finish()]
      : [start, ...thoughts("Two."), ...first, ...second, finish("tool_calls")],
  );
  const asked = { model: "small", tools: [weather] };
  const stream = client.responses.stream({ ...asked, input: "Bonn and Rome?", tool_choice: "required" });
  const response = await stream.finalResponse();
  const calls = response.output.filter((item) => item.type === "function_call");
  assert.deepEqual(
    calls.map(({ call_id, name, arguments: text }) => [call_id, name, text]),
    [
      ["call_a", "weather", '{"city":"Bonn"}'],
      ["call_b", "weather", '{"city":"Rome"}'],
    ],
  );
  const outputs = calls.map(({ call_id }, i) => {
    return { type: "function_call_output" as const, call_id, output: ["rain", "sun"][i] ?? "" };
  });
  const next = await client.responses.create({
    ...asked,
    previous_response_id: response.id,
    input: outputs,
  });
  assert.equal(next.output_text, "Rain and sun");
  assert.equal(next.previous_response_id, response.id);
  assert.deepEqual(
    model.asked.map(({ toolChoice }) => toolChoice),
    ["required", "auto"],
  );
  assert.deepEqual(model.asked[0]?.tools, [
    { name: "weather", description: weather.description, parameters: weather.parameters, strict: true },
  ]);
  const call = (id: string, city: string) => {
    return { id, type: "function", function: { name: "weather", arguments: JSON.stringify({ city }) } };
  };
  assert.deepEqual(model.asked[1]?.messages, [
    { role: "user", content: "Bonn and Rome?" },
    {
      role: "assistant",
      content: "",
      reasoning_content: "Two.",
      tool_calls: [call("call_a", "Bonn"), call("call_b", "Rome")],
    },
    { role: "tool", tool_call_id: "call_a", name: "weather", content: "rain" },
    { role: "tool", tool_call_id: "call_b", name: "weather", content: "sun" },
  ]);
});

test("a conversation goes on from a response, by its name or by its items", async (t) => {
  const { client, model } = await served(t, () => [start, ...words("Yes"), finish()]);
  const first = await client.responses.create({ model: "small", instructions: "Old.", input: "One?" });
  const second = await client.responses.create({
    model: "small",
    instructions: "New.",
    previous_response_id: first.id,
    input: "Two?",
  });
  await client.responses.create({
    model: "small",
    store: false,
    input: [
      { role: "user", content: [{ type: "input_text", text: "One?" }] },
      { type: "item_reference", id: first.output[0]?.id ?? "" },
      { role: "user", content: "Two?" },
      ...(second.output as OpenAI.Responses.ResponseInputItem[]),
      { role: "user", content: "Three?" },
    ],
  });
  const turns = [
    { role: "user", content: "One?" },
    { role: "assistant", content: "Yes" },
    { role: "user", content: "Two?" },
  ];
  assert.deepEqual(model.asked[1]?.messages, [{ role: "system", content: "New." }, ...turns]);
  assert.deepEqual(model.asked[2]?.messages, [
    ...turns,
    { role: "assistant", content: "Yes" },
    { role: "user", content: "Three?" },
  ]);
});

test("responses are kept, listed and deleted", async (t) => {
  const { client } = await served(t, () => [start, ...words("Yes"), finish()]);
  const first = await client.responses.create({ model: "small", input: "One?" });
  const second = await client.responses.create({
    model: "small",
    previous_response_id: first.id,
    input: "Two?",
  });
  assert.deepEqual((await client.responses.retrieve(second.id)).output, second.output);
  const listed: string[] = [];
  for await (const item of client.responses.inputItems.list(second.id, { order: "asc", limit: 2 })) {
    if (item.type === "message") listed.push(`${item.role}: ${JSON.stringify(item.content)}`);
  }
  assert.deepEqual(
    listed.map((line) =>
      line
        .replace(/[{}[\]"]/g, "")
        .split(",")
        .slice(0, 2)
        .join(),
    ),
    [
      "user: type:input_text,text:One?",
      "assistant: type:output_text,text:Yes",
      "user: type:input_text,text:Two?",
    ],
  );
  await client.responses.delete(second.id);
  await assert.rejects(client.responses.retrieve(second.id), OpenAI.NotFoundError);
  const gone = client.responses.create({ model: "small", previous_response_id: second.id, input: "Three?" });
  await assert.rejects(gone, (error: unknown) => {
    assert.ok(error instanceof OpenAI.NotFoundError);
    assert.deepEqual([error.code, error.param], ["previous_response_not_found", "previous_response_id"]);
    return true;
  });
  const unkept = await client.responses.create({ model: "small", input: "Four?", store: false });
  await assert.rejects(client.responses.retrieve(unkept.id), OpenAI.NotFoundError);
});

test("a client that aborts ends the reply", async (t) => {
  const ended = new EventEmitter();
  const model = replaying(async function* (_, signal) {
    try {
      yield* [start, ...words("Hel")];
      await once(signal, "abort");
    } finally {
      ended.emit("end");
    }
  });
  const client = await clientOf(t, model);
  const isEnded = once(ended, "end");
  const stream = await client.responses.create({ model: "small", input: "Hi", stream: true });
  for await (const event of stream) if (event.type === "response.output_text.delta") break;
  await isEnded;
});

test("a reply that is cut off is incomplete", async (t) => {
  const { client } = await served(t, () => [start, ...words("Hel"), finish("length")]);
  const response = await client.responses.create({ model: "small", input: "Hi", max_output_tokens: 3 });
  assert.equal(response.status, "incomplete");
  assert.deepEqual(response.incomplete_details, { reason: "max_output_tokens" });
  assert.equal(response.output[0]?.type === "message" && response.output[0].status, "incomplete");
});

test("log-probabilities are told where they are asked for", async (t) => {
  const { client, model } = await served(t, () => [start, ...words("Hi", "!"), finish()]);
  const response = await client.responses.create({
    model: "small",
    input: "Hi",
    top_logprobs: 1,
    include: ["message.output_text.logprobs"],
  });
  const [message] = response.output;
  assert.ok(message?.type === "message" && message.content[0]?.type === "output_text");
  const told = message.content[0].logprobs ?? [];
  assert.deepEqual(
    told.map(({ token, logprob, bytes }) => [token, logprob, bytes]),
    [
      ["H", 0, [72]],
      ["i", -1 / 8, [105]],
      ["!", 0, [33]],
    ],
  );
  assert.equal(told[1]?.top_logprobs[0]?.token, "i");
  assert.equal(model.asked[0]?.topLogprobs, 1);
  const plain = await client.responses.create({ model: "small", input: "Hi" });
  assert.equal(model.asked[1]?.topLogprobs, undefined);
  assert.deepEqual(plain.output[0]?.type === "message" && plain.output[0].content[0], {
    ...{ type: "output_text", text: "Hi!", annotations: [], logprobs: [] },
  });
});

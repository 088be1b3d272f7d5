/** Requests of the Responses protocol: what is asked of the model, what is refused, what is kept. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { itemsOf } from "../../../apps/serve/api/responses/items/input.ts";
import type { Item } from "../../../apps/serve/api/responses/items/item.ts";
import { messagesOf } from "../../../apps/serve/api/responses/items/messages.ts";
import { createRequest, replyRequestOf } from "../../../apps/serve/api/responses/request.ts";
import { headOf, resourceOf } from "../../../apps/serve/api/responses/resource.ts";
import { responsesRoutes } from "../../../apps/serve/api/responses/routes.ts";
import { ResponseStore } from "../../../apps/serve/api/responses/store.ts";
import type { HttpServer } from "../../../apps/serve/http/http-server.ts";
import type { ModelText, ReplyRequest, ServedModel } from "../../../apps/serve/reply/reply.ts";
import { type ReplayedModel, replaying, servedRoutes, servingOf } from "./doubles.ts";
import { finish, start, thoughts, words } from "./replies.ts";

const agent = replaying([]);
const reader = replaying([], { text: {} as ModelText });

async function requested(body: object, model: ServedModel = reader): Promise<ReplyRequest> {
  const parsed = await createRequest().parseAsync({ input: "Hi", ...body });
  return replyRequestOf(parsed, { items: itemsOf(parsed.input ?? [], () => undefined), model });
}

const fn = (name: string) => ({ type: "function", name, parameters: { type: "object" } });

test("allowed tools are all that the model learns of", async () => {
  const tools = [fn("a"), fn("b"), fn("c")];
  const allowed = {
    type: "allowed_tools",
    tools: [fn("a"), fn("c")].map(({ type, name }) => ({ type, name })),
  };
  const asked = await requested({ tools, tool_choice: { ...allowed, mode: "required" } });
  assert.deepEqual(
    asked.tools.map(({ name }) => name),
    ["a", "c"],
  );
  assert.equal(asked.toolChoice, "required");
  assert.equal((await requested({ tools, tool_choice: allowed })).toolChoice, "auto");
  assert.deepEqual((await requested({ tools, tool_choice: { type: "function", name: "b" } })).toolChoice, {
    name: "b",
  });
});

test("OpenAI's search is taken by agents, which search, and refused of others by its name", async () => {
  const tools = [{ type: "web_search" }, fn("a")];
  assert.deepEqual(
    (await requested({ tools }, agent)).tools.map(({ name }) => name),
    ["a"],
  );
  await assert.rejects(requested({ tools }), {
    message: /tools\[0\].type: expected function, got web_search/,
  });
});

test("forms, effort, budgets and draws reach the model", async () => {
  const schema = { type: "object", properties: { a: { type: "string" } } };
  const asked = await requested({
    text: { format: { type: "json_schema", name: "t", schema, strict: true } },
    reasoning: { effort: "none" },
    max_tool_calls: 3,
    agent: { top_k: 2, deadline_ms: 500 },
    seed: 5,
    stop: "END",
    top_p: 0.5,
    presence_penalty: 1,
    parallel_tool_calls: false,
  });
  assert.deepEqual(asked.constraint, { jsonSchema: schema });
  assert.deepEqual(asked.templateVariables, { enable_thinking: false, reasoning_effort: "none" });
  assert.deepEqual(asked.budget, { maxSearches: 3, topK: 2, deadlineMs: 500 });
  assert.deepEqual([asked.seed, asked.stop, asked.parallelToolCalls], [5, ["END"], false]);
  assert.deepEqual(asked.sampling, { topP: 0.5, presencePenalty: 1 });
  assert.deepEqual((await requested({ reasoning: { effort: "high" } })).templateVariables, {
    ...{ enable_thinking: true, reasoning_effort: "high" },
  });
});

test("all that the system says at the beginning is one message", async () => {
  const input = [
    { role: "developer", content: "Two." },
    { role: "system", content: [{ type: "input_text", text: "Three." }] },
    {
      role: "user",
      content: [
        { type: "input_text", text: "a" },
        { type: "input_text", text: "b" },
      ],
    },
  ];
  assert.deepEqual((await requested({ input, instructions: "One." })).messages, [
    { role: "system", content: "One.\n\nTwo.\n\nThree." },
    { role: "user", content: "ab" },
  ]);
});

test("a turn's thoughts, words and calls are one message, and the next thought begins another", async () => {
  const call = { type: "function_call", call_id: "c", name: "f", arguments: "{}" };
  const thought = (text: string) => ({ type: "reasoning", content: [{ type: "reasoning_text", text }] });
  const input = [
    ...[{ role: "user", content: "q" }, thought("t1"), { role: "assistant", content: "w" }, call],
    ...[{ type: "function_call_output", call_id: "c", output: "o" }, thought("t2")],
    { role: "assistant", content: [{ type: "refusal", refusal: "no" }], phase: "final_answer" },
  ];
  const tool_calls = [{ id: "c", type: "function", function: { name: "f", arguments: "{}" } }];
  assert.deepEqual((await requested({ input })).messages, [
    { role: "user", content: "q" },
    { role: "assistant", reasoning_content: "t1", content: "w", tool_calls },
    { role: "tool", tool_call_id: "c", name: "f", content: "o" },
    { role: "assistant", reasoning_content: "t2", content: "no" },
  ]);
});

function servedBy(t: TestContext, model: ReplayedModel): Promise<HttpServer> {
  const serving = servingOf([model]);
  const limits = { ...serving.limits, maxStoredResponses: 3, maxStoredBytes: 1 << 20 };
  return servedRoutes(t, responsesRoutes({ ...serving, limits }));
}

test("what cannot be had is refused with 400, by the name of the field", async (t) => {
  const { url } = await servedBy(t, replaying([start, finish()]));
  const image = { type: "input_image", image_url: "data:image/png;base64,AAAA" };
  const refused: [object, string, string][] = [
    [{ colour: "red" }, "colour: Extra inputs are not permitted", "colour"],
    [
      { input: [{ role: "user", content: [image] }] },
      "input\\[0\\].content\\[0\\].type: .*input_image.*images",
      "input",
    ],
    [{ input: [{ role: "user", content: [{ type: "input_file" }] }] }, "input_file", "input"],
    [{ input: [{ type: "computer_call" }] }, "input\\[0\\].*computer_call", "input"],
    [{ input: [{ role: "user", content: "x", mood: "good" }] }, "mood", "input"],
    [{ input: [{ type: "compaction", encrypted_content: "x" }] }, "encrypted_content", "input"],
    [{ input: [] }, "input", "input"],
    [{ tools: [{ type: "file_search" }] }, "tools\\[0\\].type: expected function, got file_search", "tools"],
    [{ tool_choice: "required" }, "tool_choice", "tool_choice"],
    [{ tools: [fn("a")], tool_choice: { type: "function", name: "b" } }, "tool_choice: .*b", "tool_choice"],
    [{ background: true }, "background", "background"],
    [{ conversation: "conv_1" }, "conversation", "conversation"],
    [{ text: { format: { type: "json_schema", name: "x" } } }, "text.format.schema", "text"],
    [{ temperature: -1 }, "temperature", "temperature"],
  ];
  for (const [body, expected, param] of refused) {
    const answer = await fetch(`${url}/v1/responses`, {
      method: "POST",
      body: JSON.stringify({ model: "small", input: "Hi", ...body }),
    });
    const { error } = (await answer.json()) as { error: { message: string; param: unknown; type: string } };
    assert.equal(answer.status, 400, JSON.stringify(body));
    assert.match(error.message, new RegExp(expected));
    assert.deepEqual([error.type, error.param], ["invalid_request_error", param], error.message);
  }
});

test("thoughts come back to the model, sealed or as they are", async (t) => {
  const model = replaying([start, ...thoughts("Hm."), ...words("Yes"), finish()]);
  const { url } = await servedBy(t, model);
  const ask = async (body: object) => {
    const answer = await fetch(`${url}/v1/responses`, { method: "POST", body: JSON.stringify(body) });
    return (await answer.json()) as { output: Record<string, unknown>[] };
  };
  const include = ["reasoning.encrypted_content"];
  const { output } = await ask({ input: "One?", store: false, include });
  const [{ content: _, ...bare } = {}, message] = output;
  for (const thought of [output[0], bare])
    await ask({ input: [thought, message, { role: "user", content: "Two?" }] });
  const assistant = { role: "assistant", reasoning_content: "Hm.", content: "Yes" };
  for (const { messages } of model.asked.slice(1)) {
    assert.deepEqual(messages, [assistant, { role: "user", content: "Two?" }]);
  }
  assert.equal(model.asked.length, 3);
});

test("the store holds as many responses and bytes as it may, and lets go of the longest unused", () => {
  const head = headOf(createRequest().parse({}), { id: "", model: { id: "small" } });
  const outcome = { status: "completed", output: [], usage: null, error: null } as const;
  const put = (store: ResponseStore, id: string, text = "") => {
    const input: Item[] = itemsOf([{ type: "message", role: "user", content: text }], () => undefined);
    store.put({ response: resourceOf({ ...head, id }, outcome), input });
  };
  const store = new ResponseStore({ maxStoredResponses: 3, maxStoredBytes: 20_000 });
  for (const id of ["a", "b", "c"]) put(store, id);
  assert.ok(store.get("a"));
  put(store, "d");
  assert.deepEqual(
    ["a", "b", "c", "d"].map((id) => store.get(id) !== undefined),
    [true, false, true, true],
  );
  put(store, "e", "x".repeat(15_000));
  put(store, "f", "x".repeat(15_000));
  assert.deepEqual(
    ["d", "e", "f"].map((id) => store.get(id) !== undefined),
    [false, false, true],
  );
  put(store, "g", "x".repeat(25_000));
  assert.equal(store.size, 0);
});

test("a long conversation's messages are those of its items, whatever was deleted since", () => {
  const store = new ResponseStore({ maxStoredResponses: 10, maxStoredBytes: 1 << 20 });
  const items = itemsOf("One?", () => undefined);
  const head = headOf(createRequest().parse({}), { id: "a", model: { id: "small" } });
  const outcome = { status: "completed", output: items, usage: null, error: null } as const;
  store.put({ response: resourceOf(head, outcome), input: items });
  const item = store.findItem(items[0]?.id ?? "");
  store.delete("a");
  assert.equal(store.findItem(items[0]?.id ?? ""), undefined);
  assert.deepEqual(messagesOf([item as Item]), [{ role: "user", content: "One?" }]);
});

test("an item is found as long as one response of several has it", () => {
  const store = new ResponseStore({ maxStoredResponses: 10, maxStoredBytes: 1 << 20 });
  const input = itemsOf("One?", () => undefined);
  const head = headOf(createRequest().parse({}), { id: "", model: { id: "small" } });
  const outcome = { status: "completed", output: [], usage: null, error: null } as const;
  for (const id of ["a", "b", "b"]) store.put({ response: resourceOf({ ...head, id }, outcome), input });
  const id = input[0]?.id ?? "";
  store.delete("a");
  assert.equal(store.findItem(id), input[0]);
  store.delete("b");
  assert.equal(store.findItem(id), undefined);
});

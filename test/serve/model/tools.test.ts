/** Calls of functions by a real model: what it samples is held to the form, whatever it would rather say. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { servedWorld } from "./served.ts";

// Short, since the model's context is 1,024 tokens and its words are those of its world.
const tools = [
  {
    type: "function" as const,
    function: {
      name: "paint",
      parameters: {
        ...{ type: "object", required: ["colour"], additionalProperties: false },
        properties: { colour: { enum: ["red", "green"] } },
      },
    },
  },
];
const messages = [{ role: "user" as const, content: "who directed Nightwinter" }];
const asked = { model: "world", messages, tools, max_tokens: 200 };

test("a required call is one, and its arguments meet the schema", async (t) => {
  const { client } = await servedWorld(t);
  for (let seed = 0; seed < 4; seed++) {
    const { choices } = await client.chat.completions.create({
      ...{ ...asked, seed, temperature: 1, parallel_tool_calls: false },
      tool_choice: "required",
    });
    const [choice] = choices;
    assert.equal(choice?.finish_reason, "tool_calls");
    const [call, another] = choice?.message.tool_calls ?? [];
    assert.ok(call?.type === "function" && another === undefined);
    const given = JSON.parse(call.function.arguments) as { colour: string };
    assert.ok(call.function.name === "paint" && ["red", "green"].includes(given.colour));
  }
});

test("a named function is called, streaming or not, and its result is read", async (t) => {
  const { client } = await servedWorld(t);
  const named = {
    ...asked,
    seed: 1,
    tool_choice: { type: "function" as const, function: { name: "paint" } },
  };
  const whole = await client.chat.completions.create({ ...named, parallel_tool_calls: false });
  const [call] = whole.choices[0]?.message.tool_calls ?? [];
  assert.ok(call?.type === "function");
  let [name, text] = ["", ""];
  const stream = await client.chat.completions.create({ ...named, parallel_tool_calls: false, stream: true });
  for await (const { choices } of stream) {
    for (const { function: part } of choices[0]?.delta.tool_calls ?? []) {
      name += part?.name ?? "";
      text += part?.arguments ?? "";
    }
  }
  assert.deepEqual([name, text], [call.function.name, call.function.arguments]);
  const next = await client.chat.completions.create({
    ...{ ...asked, tool_choice: "none" as const, max_tokens: 4 },
    messages: [
      ...messages,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: call.id, content: "Loromos" },
    ],
  });
  assert.equal(next.choices[0]?.message.tool_calls, undefined);
});

test("a reply of a JSON schema is JSON of that schema", async (t) => {
  const { client } = await servedWorld(t);
  const schema = {
    ...{ type: "object", additionalProperties: false, required: ["city", "year"] },
    properties: {
      city: { type: "string", maxLength: 20 },
      year: { type: "integer", minimum: 1, maximum: 9 },
    },
  };
  const { choices } = await client.chat.completions.create({
    ...{ model: "world", messages, max_tokens: 120, seed: 2 },
    response_format: { type: "json_schema", json_schema: { name: "place", schema } },
  });
  const place = JSON.parse(choices[0]?.message.content ?? "") as { city: string; year: number };
  assert.deepEqual(Object.keys(place).sort(), ["city", "year"]);
  assert.ok(place.year >= 1 && place.year <= 9);
});

/** Responses of a real model, as OpenAI's client asks for them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { servedWorld, until } from "./served.ts";

const asked = { model: "world", input: "who directed Nightwinter", temperature: 0, max_output_tokens: 16 };

test("a response is the chat completion of the same conversation, streamed or not, kept or sent again", async (t) => {
  const { client } = await servedWorld(t);
  const first = await client.responses.create(asked);
  const streamed = await client.responses.stream(asked).finalResponse();
  assert.equal(streamed.output_text, first.output_text);
  const next = { ...asked, input: "where was he born" };
  const second = await client.responses.create({ ...next, previous_response_id: first.id });
  const chat = await client.chat.completions.create({
    ...{ model: "world", temperature: 0, max_tokens: 16 },
    messages: [
      { role: "user", content: asked.input },
      { role: "assistant", content: first.output_text },
      { role: "user", content: next.input },
    ],
  });
  assert.equal(second.output_text, chat.choices[0]?.message.content);
  assert.equal(second.usage?.input_tokens, chat.usage?.prompt_tokens);
  assert.equal(second.usage?.output_tokens, chat.usage?.completion_tokens);
});

test("a text of a JSON schema parses", async (t) => {
  const { client } = await servedWorld(t);
  const schema = {
    type: "object",
    properties: { sure: { type: "boolean" } },
    required: ["sure"],
  };
  const response = await client.responses.create({
    ...{ ...asked, max_output_tokens: 200 },
    text: { format: { type: "json_schema", name: "answer", schema } },
  });
  assert.equal(typeof (JSON.parse(response.output_text) as { sure: unknown }).sure, "boolean");
});

test("a client that leaves gives the engine its sequence back at once", async (t) => {
  const { client, engine } = await servedWorld(t);
  const stream = await client.responses.create({ ...asked, max_output_tokens: 500, stream: true });
  for await (const event of stream) if (event.type === "response.output_text.delta") break;
  await until(async () => (await engine.stats()).numSequences === 0);
});

/** LangChain's chat model, over both of OpenAI's interfaces. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AIMessageChunk, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatOpenAI } from "@langchain/openai";
import { z } from "zod";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { callingModel } from "../ai-sdk/calling-model.ts";
import { servedWorld } from "../model/served.ts";

const chatAt = (url: string, model: string, useResponsesApi: boolean) =>
  new ChatOpenAI({
    ...{ model, useResponsesApi, apiKey: "none", maxRetries: 0, maxTokens: 200, temperature: 0 },
    configuration: { baseURL: `${url}/v1` },
  });

const weather = tool(({ city }: { city: string }) => `clear in ${city}`, {
  ...{ name: "weather", description: "Tells how it is there.", schema: z.object({ city: z.string() }) },
});

type Chat = ChatOpenAI | ReturnType<ChatOpenAI["bindTools"]>;

async function streamed(chat: Chat, messages: BaseMessage[]): Promise<AIMessageChunk> {
  const chunks: AIMessageChunk[] = [];
  for await (const chunk of await chat.stream(messages)) chunks.push(chunk as AIMessageChunk);
  return chunks.reduce((all, chunk) => all.concat(chunk));
}

/** Asks until no tool is called, and adds all that came to the messages. */
async function answer(chat: Chat, messages: BaseMessage[], isStreamed: boolean): Promise<void> {
  for (;;) {
    const said = isStreamed ? await streamed(chat, messages) : await chat.invoke(messages);
    messages.push(said as BaseMessage);
    const calls = (said as AIMessageChunk).tool_calls ?? [];
    if (calls.length === 0) return;
    for (const call of calls) messages.push(await weather.invoke({ ...call, type: "tool_call" }));
  }
}

test("an agent calls its tools and goes on over turns, whole and streamed", async (t) => {
  const model = callingModel({ name: "weather", pieces: ['{"city":', ' "Rome"}'], answer: "It is clear." });
  const server = await serveModels({ models: [model], port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  for (const [useResponsesApi, isStreamed] of [
    ...[[false, false] as const, [false, true] as const],
    ...[[true, false] as const, [true, true] as const],
  ]) {
    const chat = chatAt(server.url, "calling", useResponsesApi).bindTools([weather]);
    const messages: BaseMessage[] = [new SystemMessage("Be short."), new HumanMessage("How is Rome?")];
    await answer(chat, messages, isStreamed);
    messages.push(new HumanMessage("And now?"));
    await answer(chat, messages, isStreamed);
    const turn = ["user", "assistant", "tool"];
    const told = model.requests.at(-1)?.messages ?? [];
    assert.deepEqual(
      told.map(({ role }) => role),
      ["system", ...turn, "assistant", ...turn],
    );
    assert.match(JSON.stringify(told[2]), /"weather".*Rome/);
    assert.deepEqual([told[3]?.content, told[4]?.content], ["clear in Rome", "It is clear."]);
    assert.equal(messages.at(-1)?.text, "It is clear.");
  }
});

test("texts, streams, usage and objects come through", async (t) => {
  const { url } = await servedWorld(t);
  const schema = z.object({ kind: z.enum(["film", "person"]), pair: z.tuple([z.boolean(), z.literal("a")]) });
  for (const useResponsesApi of [false, true]) {
    const chat = chatAt(url, "world", useResponsesApi);
    const messages = [new HumanMessage("who directed Ironroad")];
    const [whole, stream] = [await chat.invoke(messages), await streamed(chat, messages)];
    assert.equal(stream.text, whole.text);
    const numTokens = (whole as AIMessageChunk).usage_metadata?.output_tokens;
    assert.ok(numTokens !== undefined && numTokens === stream.usage_metadata?.output_tokens);
    const typed = chat.withStructuredOutput(schema, { method: "jsonSchema", name: "film" });
    const object = await typed.invoke(messages);
    assert.deepEqual(schema.parse(object), object);
  }
});

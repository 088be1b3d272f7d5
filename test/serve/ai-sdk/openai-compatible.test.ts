/** The AI SDK with its provider for servers of OpenAI's protocol, over HTTP. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, Output, streamText, tool } from "ai";
import { z } from "zod";
import { agentModel } from "../../../apps/serve/agent/agent-model.ts";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { librarySearch } from "../../../apps/world/library.ts";
import { worldRecipe } from "../../../apps/world/recipes/world.ts";
import { createWorld } from "../../../apps/world/world.ts";
import { servedWorld, until } from "../model/served.ts";
import { callingModel } from "./calling-model.ts";

const prompt = "Answer the question, searching with one query at a time.\nQuestion: Who directed Ironroad?\n";

const providerAt = (url: string) =>
  createOpenAICompatible({
    ...{ name: "seekrl", baseURL: `${url}/v1`, includeUsage: true, supportsStructuredOutputs: true },
  });

test("texts, streams, usage and objects come through", async (t) => {
  const { url, engine } = await servedWorld(t);
  const model = providerAt(url)("world");
  const asked = { model, prompt, temperature: 1, seed: 7, maxOutputTokens: 16 };
  const whole = await generateText(asked);
  const stream = streamText(asked);
  const pieces: string[] = [];
  for await (const piece of stream.textStream) pieces.push(piece);
  assert.equal(pieces.join(""), whole.text);
  assert.deepEqual(
    [await stream.reasoningText, (await stream.usage).outputTokens],
    [whole.reasoningText, 16],
  );

  const schema = z.object({ kind: z.enum(["film", "person"]), isOld: z.boolean() });
  const object = { ...asked, maxOutputTokens: 600, output: Output.object({ schema }) };
  const { output } = await generateText(object);
  assert.deepEqual(schema.parse(output), output);

  const abort = new AbortController();
  const left = streamText({ ...asked, maxOutputTokens: 900, abortSignal: abort.signal });
  for await (const { type } of left.stream)
    if (type === "text-delta" || type === "reasoning-delta") abort.abort();
  await until(async () => (await engine.stats()).numSequences === 0);
});

async function serving(t: TestContext, models: Parameters<typeof serveModels>[0]["models"]) {
  const server = await serveModels({ models, port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  return providerAt(server.url);
}

test("tools are called, run and read", async (t) => {
  const calling = callingModel({ name: "weather", pieces: ['{"city":', ' "Rome"}'], answer: "It is clear." });
  const provider = await serving(t, [calling]);
  const weather = tool({
    inputSchema: z.object({ city: z.string() }),
    execute: async ({ city }) => `clear in ${city}`,
  });
  const { text, steps } = await generateText({
    ...{ model: provider("calling"), prompt: "How is Rome?", tools: { weather }, stopWhen: isStepCount(2) },
  });
  assert.equal(text, "It is clear.");
  assert.deepEqual(steps[0]?.toolCalls[0]?.input, { city: "Rome" });
  assert.match(JSON.stringify(calling.requests[1]?.messages.at(-1)), /clear in Rome/);
});

test("an agent answers with its thoughts, within the budget of the request", async (t) => {
  const { engine, tokenizer, policy } = await servedWorld(t);
  const { passages } = createWorld({ seed: 0 });
  const agent = agentModel({
    ...{ id: "agent/world", parent: "world", engine, tokenizer, chatTemplate: policy.chatTemplate },
    ...{ recipe: worldRecipe({ queries: "multi" }), search: librarySearch(passages) },
    contextTokens: engine.maxTokens,
  });
  const provider = await serving(t, [agent]);
  const asked = { model: provider("agent/world"), prompt: "Who directed Ironroad?" };
  const { text, reasoningText } = await generateText(asked);
  const film = passages.find(({ title, text: said }) => title === "Ironroad" && said.startsWith("Directed"));
  assert.ok(text !== "" && film?.text.includes(text));
  assert.match(reasoningText ?? "", /I will search/);
  const providerOptions = { seekrl: { agent: { max_searches: 0 } } };
  assert.equal((await generateText({ ...asked, providerOptions })).text, "");
  await assert.rejects(
    generateText({ ...asked, tools: { a: tool({ inputSchema: z.object({}) }) } }),
    /tools of its own/,
  );
});

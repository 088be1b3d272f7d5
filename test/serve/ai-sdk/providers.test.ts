/** The AI SDK's providers for OpenAI's and Anthropic's interfaces, over HTTP. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, type LanguageModel, Output, streamText, tool } from "ai";
import { z } from "zod";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import { servedWorld } from "../model/served.ts";
import { callingModel } from "./calling-model.ts";

/** A model by each of the interfaces. */
function modelsAt(url: string, name: string): Readonly<Record<string, LanguageModel>> {
  const openai = createOpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
  const anthropic = createAnthropic({ baseURL: `${url}/v1`, apiKey: "none" });
  return { chat: openai.chat(name), responses: openai.responses(name), messages: anthropic(name) };
}

async function calling(t: TestContext) {
  const model = callingModel({ name: "weather", pieces: ['{"city":', ' "Rome"}'], answer: "It is clear." });
  const server = await serveModels({ models: [model], port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  return { model, models: modelsAt(server.url, "calling") };
}

const weather = tool({
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `clear in ${city}`,
});
const asked = { maxRetries: 0, maxOutputTokens: 50, tools: { weather }, stopWhen: isStepCount(3) };

test("tools are called and run, and what was answered goes back, whole and streamed", async (t) => {
  const { model, models } = await calling(t);
  for (const [name, provided] of Object.entries(models)) {
    const first = { ...asked, model: provided, prompt: "How is Rome?" };
    const whole = await generateText(first);
    const streamed = streamText(first);
    assert.deepEqual([whole.text, await streamed.text], ["It is clear.", "It is clear."], name);
    for (const steps of [whole.steps, await streamed.steps]) {
      const turns = steps.flatMap(({ response }) => response.messages);
      await generateText({
        ...{ ...asked, model: provided, stopWhen: isStepCount(1) },
        messages: [{ role: "user", content: "How is Rome?" }, ...turns, { role: "user", content: "Sure?" }],
      });
      const told = model.requests.at(-1)?.messages ?? [];
      const roles = told.map(({ role }) => role);
      assert.deepEqual(roles, ["user", "assistant", "tool", "assistant", "user"], name);
      assert.match(JSON.stringify(told[1]), /"weather".*Rome/);
      assert.match(JSON.stringify(told[2]), /clear in Rome/);
      assert.deepEqual([told[3]?.content, told[4]?.content], ["It is clear.", "Sure?"]);
    }
  }
});

test("texts, streams, usage and objects with tuples come through", async (t) => {
  const { url } = await servedWorld(t);
  const film = z.object({ kind: z.enum(["film", "person"]) });
  const pairOf = film.extend({ pair: z.tuple([z.boolean()]) });
  for (const [name, model] of Object.entries(modelsAt(url, "world"))) {
    const plain = { model, prompt: "who directed Ironroad", maxOutputTokens: 16, maxRetries: 0 };
    const cold = { ...plain, temperature: 0 };
    const [whole, streamed] = [await generateText(cold), streamText(cold)];
    assert.equal(await streamed.text, whole.text, name);
    assert.equal((await streamed.usage).outputTokens, whole.usage.outputTokens, name);
    // To Anthropic's interface it does not say how long a list has to be.
    const schema = name === "messages" ? film : pairOf;
    const { output } = await generateText({
      ...{ ...cold, maxOutputTokens: 300, output: Output.object({ schema }) },
      // A tool, which is what it sends to unknown models, does not fit into this model's context.
      providerOptions: { anthropic: { structuredOutputMode: "outputFormat" } },
    });
    assert.deepEqual(schema.parse(output), output, name);
  }
});

/** The AI SDK over models of the same process: the world's model, and its agent. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { embedMany, generateText, isStepCount, Output, rerank, streamText, tool } from "ai";
import { z } from "zod";
import { agentModel } from "../../../apps/serve/agent/agent-model.ts";
import { seekrlProvider } from "../../../apps/serve/ai-sdk/provider.ts";
import { languageModels } from "../../../apps/serve/model/open-models.ts";
import { librarySearch } from "../../../apps/world/library.ts";
import { worldRecipe } from "../../../apps/world/recipes/world.ts";
import { createWorld } from "../../../apps/world/world.ts";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { HashedEmbedder } from "../../../lib/search/embed/hashed-embedder.ts";
import { checkpoint, until } from "../model/served.ts";
import { callingModel } from "./calling-model.ts";
import { pausedModel } from "./paused-model.ts";

const policy = await openLocalPolicy({ model: checkpoint }, {});
test.after(() => policy[Symbol.asyncDispose]());
const { engine, tokenizer, chatTemplate } = policy;
const world = createWorld({ seed: 0 });
const agent = agentModel({
  ...{ id: "agent/world", engine, tokenizer, chatTemplate, contextTokens: engine.maxTokens },
  ...{ recipe: worldRecipe({ queries: "multi" }), search: librarySearch(world.passages) },
});
const models = languageModels({ name: "world", engine, tokenizer, chatTemplate });
const seekrl = seekrlProvider({ models: [...models, agent] });
const prompt = "Answer the question, searching with one query at a time.\nQuestion: Who directed Ironroad?\n";

test("a text is what the engine samples, thoughts apart, and its tokens are counted", async () => {
  const asked = { model: seekrl("world"), prompt, temperature: 0, maxOutputTokens: 12 };
  const { text, reasoningText, usage, finishReason } = await generateText(asked);
  const messages = [{ role: "user", content: prompt }];
  const ids = tokenizer.encode(chatTemplate?.render(messages, { addGenerationPrompt: true }) ?? "");
  using sequence = engine.open(ids);
  const span = await sequence.generate({ temperature: 0, maxTokens: 12 });
  const sampled = tokenizer.decode(span.ids);
  assert.ok(sampled.includes(reasoningText ?? "?") && sampled.endsWith(text) && text !== "");
  assert.deepEqual([usage.inputTokens, usage.outputTokens], [ids.length, span.ids.length]);
  assert.equal(finishReason, span.stop === "length" ? "length" : "stop");
});

test("a stream tells the same text; stop strings and seeds hold", async () => {
  const asked = { model: seekrl("world"), prompt, temperature: 1, seed: 7, maxOutputTokens: 16 };
  // In how many pieces is a matter of speed: a reader who takes longer than the engine is told several tokens at once.
  for (const each of [asked, { ...asked, temperature: 1.5, maxOutputTokens: 900 }])
    assert.equal(await streamText(each).text, (await generateText(each)).text);
  const { text } = await generateText(asked);
  assert.ok(text.includes(" directed"));
  const cut = await generateText({ ...asked, stopSequences: [" directed"] });
  assert.equal(cut.text, text.slice(0, text.indexOf(" directed")));
});

test("a piece is told before the next one is there, and an aborted stream ends at once", async () => {
  const paused = pausedModel(["One", " two"]);
  const { textStream } = streamText({ model: seekrlProvider({ models: [paused] })("paused"), prompt });
  const pieces: string[] = [];
  for await (const piece of textStream) {
    pieces.push(piece);
    paused.goOn();
  }
  assert.deepEqual(pieces, ["One", " two"]);
  const abort = new AbortController();
  const parts: string[] = [];
  const model = seekrlProvider({ models: [pausedModel(["One", " two"])] })("paused");
  for await (const { type } of streamText({ model, prompt, abortSignal: abort.signal }).stream) {
    parts.push(type);
    if (type === "text-delta") abort.abort();
  }
  assert.deepEqual(parts.slice(-2), ["text-delta", "abort"]);
});

test("an aborted stream gives its memory back", async () => {
  const abort = new AbortController();
  const stream = streamText({
    ...{ model: seekrl("world"), prompt, temperature: 1, maxOutputTokens: 900, abortSignal: abort.signal },
  });
  for await (const { type } of stream.stream) if (type === "text-delta") abort.abort();
  await until(async () => (await engine.stats()).numSequences === 0);
});

test("a reader that leaves a stream gives its memory back", async () => {
  const asked = [{ role: "user" as const, content: [{ type: "text" as const, text: prompt }] }];
  const { stream } = await seekrl("world").doStream({ prompt: asked, temperature: 1, maxOutputTokens: 900 });
  const reader = stream.getReader();
  await reader.read();
  await reader.cancel();
  assert.equal((await engine.stats()).numSequences, 0);
});

test("an object meets its schema, whatever the model would rather say", async () => {
  const schema = z.object({ kind: z.enum(["film", "person"]), isOld: z.boolean() });
  const { output } = await generateText({
    ...{ model: seekrl("world"), prompt, temperature: 1, seed: 1, maxOutputTokens: 600 },
    output: Output.object({ schema }),
  });
  assert.deepEqual(schema.parse(output), output);
});

test("a tool is called as its arguments come, run, and its result is read by the next step", async () => {
  const model = callingModel({ name: "weather", pieces: ['{"city":', ' "Rome"}'], answer: "It is clear." });
  const weather = tool({
    description: "Tells the weather of a city.",
    inputSchema: z.object({ city: z.enum(["Rome", "Lima"]) }),
    execute: async ({ city }) => ({ city, sky: "clear" }),
  });
  const stream = streamText({
    ...{ model: seekrlProvider({ models: [model] })("calling"), system: "Be brief.", prompt: "How is Rome?" },
    ...{ tools: { weather }, stopWhen: isStepCount(2) },
    prepareStep: ({ stepNumber }) => ({ toolChoice: stepNumber === 0 ? "required" : "auto" }),
  });
  const deltas: string[] = [];
  for await (const part of stream.stream) if (part.type === "tool-input-delta") deltas.push(part.delta);
  assert.deepEqual(deltas, ['{"city":', ' "Rome"}']);
  assert.equal(await stream.text, "It is clear.");
  const [first, second] = await stream.steps;
  assert.equal(first?.finishReason, "tool-calls");
  assert.equal(second?.reasoningText, "I know.");

  const [asked, again] = model.requests;
  assert.deepEqual(asked?.toolChoice, "required");
  const [definition] = asked?.tools ?? [];
  assert.deepEqual([definition?.name, definition?.description], ["weather", "Tells the weather of a city."]);
  assert.deepEqual(definition?.parameters.required, ["city"]);
  const call = { name: "weather", arguments: '{"city":"Rome"}' };
  assert.deepEqual(again?.messages, [
    { role: "system", content: "Be brief." },
    { role: "user", content: "How is Rome?" },
    {
      ...{ role: "assistant", content: "", reasoning_content: "Let me see." },
      tool_calls: [{ id: "call-1", type: "function", function: call }],
    },
    { role: "tool", tool_call_id: "call-1", name: "weather", content: '{"city":"Rome","sky":"clear"}' },
  ]);
});

test("files are refused by their place, and so are tools of other providers", async () => {
  const image = { type: "file" as const, data: new Uint8Array([1]), mediaType: "image/png" };
  const messages = [{ role: "user" as const, content: [image] }];
  await assert.rejects(
    generateText({ model: seekrl("world"), messages }),
    /prompt\[0\].*expected text, got file/,
  );
  const search = { type: "provider" as const, id: "other.search" as const, name: "search", args: {} };
  const asked = [{ role: "user" as const, content: [{ type: "text" as const, text: "q" }] }];
  await assert.rejects(
    async () => seekrl("world").doGenerate({ prompt: asked, tools: [search] }),
    /tools\[0\]: expected functions, got other\.search/,
  );
});

test("an agent's thoughts, searches, answer and sources come as the SDK has them", async () => {
  const stream = streamText({ model: seekrl("agent/world"), prompt: "Who directed Ironroad?" });
  const types: string[] = [];
  for await (const { type } of stream.stream) types.push(type);
  const passage = world.passages.find(
    ({ title, text }) => title === "Ironroad" && text.startsWith("Directed"),
  );
  const text = await stream.text;
  assert.ok(text !== "" && passage?.text.includes(text));
  assert.match((await stream.reasoningText) ?? "", /search/);
  const [call] = await stream.toolCalls;
  const [result] = await stream.toolResults;
  assert.deepEqual(call?.input, { queries: ["who directed Ironroad"] });
  assert.equal(call?.providerExecuted, true);
  assert.match(JSON.stringify(result?.output), new RegExp(passage?.text ?? "none"));
  assert.deepEqual(
    (await stream.sources).map(({ id, title }) => [id, title]),
    [[passage?.id, "Ironroad"]],
  );
  assert.ok(types.indexOf("tool-result") < types.indexOf("text-start"));
  assert.ok(((await stream.usage).outputTokenDetails.reasoningTokens ?? 0) > 0);
});

test("the words of an answer name the sentence that they stand in", async () => {
  const asked = [
    { role: "user" as const, content: [{ type: "text" as const, text: "Who directed Ironroad?" }] },
  ];
  const { content } = await seekrl("agent/world").doGenerate({ prompt: asked });
  const said = content.find((part) => part.type === "text");
  const [citation] = said?.type === "text" ? (said.citations ?? []) : [];
  assert.ok(said?.type === "text" && citation);
  assert.equal(said.text.slice(citation.startIndex, citation.endIndex), said.text);
  assert.match(citation.citedText ?? "", new RegExp(said.text));
});

test("a budget is an option of the provider; what an agent cannot do is refused", async () => {
  const model = seekrl("agent/world");
  const providerOptions = { seekrl: { maxSearches: 0 } };
  const { toolCalls } = await generateText({ model, prompt: "Who directed Ironroad?", providerOptions });
  assert.equal(toolCalls.length, 0);
  const tools = { a: tool({ inputSchema: z.object({}) }) };
  await assert.rejects(
    generateText({ model, prompt: "q", tools }),
    /agent\/world has tools of its own, got a/,
  );
  const wrong = { seekrl: { searches: 1 } };
  await assert.rejects(
    generateText({ model, prompt: "q", providerOptions: wrong }),
    /unknown key "searches"/,
  );
});

test("texts are embedded and re-ranked by models of this process", async () => {
  const embedder = await HashedEmbedder.fit(["Paris France", "Rome Italy"], { dim: 32 });
  const reranker = {
    score: async (_: string, texts: readonly string[]) => Float32Array.from(texts, (text) => text.length),
    countTokens: () => 1,
  };
  const provider = seekrlProvider({
    models,
    embedders: [{ model: "hashed", embedder }],
    rerankers: [{ model: "lengths", reranker }],
  });
  const values = ["Paris", "Rome"];
  const { embeddings } = await embedMany({ model: provider.embeddingModel("hashed"), values });
  assert.deepEqual(embeddings.flat(), [...(await embedder.embedPassages(values))]);
  const documents = ["a", "abc", "ab"];
  const ranked = await rerank({ model: provider.rerankingModel("lengths"), documents, query: "q", topN: 2 });
  assert.deepEqual(ranked.rerankedDocuments, ["abc", "ab"]);
  assert.throws(() => provider("other"), /expected one of world, got other/);
  assert.throws(() => provider.embeddingModel("other"), /expected one of hashed/);
  embedder.close();
});

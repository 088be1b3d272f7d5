/** Agents over a server that goes on with texts. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { baselineAgent } from "../../../apps/baselines/baselines.ts";
import {
  messageMarks,
  partsOf,
  toMessages,
  withoutMarks,
  wordCodec,
} from "../../../connectors/endpoint/messages.ts";
import { endOf, endpointSource } from "../../../connectors/endpoint/text-sequence.ts";
import { Completions } from "../../../connectors/remote/completions.ts";
import { searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { r1SearcherFormat } from "../../../lib/rollout/formats/r1-searcher.ts";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { defaultLimits } from "../../../lib/rollout/limits.ts";
import { defaultMemory } from "../../../lib/rollout/memory.ts";
import { encodeTurn, turnMarksOf } from "../../../lib/rollout/session/turn-marks.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { type Asked, type FaultServer, startFaultServer } from "../remote/fault-server.ts";
import { projectRoot } from "../../project.ts";
import { recordedSearch } from "../../rollout/doubles.ts";

const question = { id: "a", question: "capital of France?", answers: ["Paris"] };
const common = { limits: defaultLimits, sampling: { temperature: 0 }, format: ragFormat("single") };
const transport = { timeoutMs: 300, deadlineMs: 2000, retries: 1, breakAfter: 100 };

/** A server that searches at first and answers once it has read something; stop strings are cut off. */
const reply =
  (tell: object = {}) =>
  ({ body }: Asked): unknown => {
    const text = JSON.stringify(body);
    const said = text.includes("about France") ? "So <answer> Paris " : "I search. <search> France ";
    const choice = { finish_reason: "stop", ...tell };
    const isChat = (body as object) && "messages" in (body as object);
    return { choices: [isChat ? { ...choice, message: { content: said } } : { ...choice, text: said }] };
  };

function agentOn(server: FaultServer, api: "chat" | "completions") {
  const completions = new Completions({ url: `${server.url}/v1`, model: "m", api, transport });
  const tokenizer = wordCodec();
  const engine = endpointSource({ completions, tokenizer });
  const template = api === "chat" ? { chatTemplate: messageMarks } : {};
  return searchAgent({ ...common, ...template, engine, tokenizer, search: recordedSearch() });
}

test("a server is given the sampling that its protocol has, and other options are refused by name", async () => {
  await using server = await startFaultServer(reply());
  const completions = new Completions({ url: `${server.url}/v1`, model: "m", api: "completions", transport });
  const request = { prompt: "x", maxTokens: 1, stop: [] };
  const sampling = { temperature: 0.5, topP: 0.9, presencePenalty: 1, frequencyPenalty: 0.5 };
  await completions.complete({ ...request, ...sampling, logitBias: { 3: -100 }, seed: 4 });
  assert.deepEqual(server.asked[0]?.body, {
    ...{ model: "m", prompt: "x", max_tokens: 1, temperature: 0.5, top_p: 0.9, seed: 4 },
    ...{ presence_penalty: 1, frequency_penalty: 0.5, logit_bias: { "3": -100 } },
  });
  const unknown = { ...request, minP: 0.1 };
  await assert.rejects(completions.complete(unknown), {
    code: "ERR_ARGUMENT",
    message: /unknown key "minP"/,
  });
});

test("an agent converses with a chat server in messages: its turns are the assistant's, documents the user's", async () => {
  await using server = await startFaultServer(reply());
  const { answer, rounds, stop, segments } = await agentOn(server, "chat")(question, { seed: 7 });
  assert.deepEqual([answer, rounds, stop], ["Paris", 1, "answer"]);
  assert.deepEqual(
    segments.map(({ kind }) => kind),
    ["prompt", "policy", "observation", "policy"],
  );
  const [first, second] = server.asked.map(({ body }) => body as Record<string, unknown>);
  assert.equal(server.asked[0]?.url, "/v1/chat/completions");
  const { messages, seed, ...others } = first ?? {};
  assert.deepEqual(others, {
    ...{ model: "m", temperature: 0, max_tokens: defaultLimits.maxResponseTokens },
    stop: ["</search>", "</answer>"],
  });
  const prompt = ragFormat("single").prompt(question.question);
  assert.deepEqual(messages, [{ role: "user", content: prompt }]);
  assert.deepEqual(second?.messages, [
    { role: "user", content: prompt },
    { role: "assistant", content: "I search. <search> France </search>" },
    { role: "user", content: segments[2]?.text },
  ]);
  assert.ok(Number(seed) < 2 ** 31 && seed !== second?.seed);
});

test("a chat server is not sent words that begin the model's message, and may write them itself", async () => {
  const turns = ["<think> Where? <|begin_of_query|> France ", " So. </think>\n<answer> Paris "];
  let turn = 0;
  await using server = await startFaultServer(() => ({ choices: [{ message: { content: turns[turn++] } }] }));
  const completions = new Completions({ url: server.url, model: "m", transport });
  const tokenizer = wordCodec();
  const engine = endpointSource({ completions, tokenizer });
  const parts = { ...common, engine, tokenizer, search: recordedSearch(), chatTemplate: messageMarks };
  const { answer, segments } = await searchAgent({ ...parts, format: r1SearcherFormat() })(question);
  assert.equal(answer, "Paris");
  const asked = server.asked.map(
    ({ body }) => (body as { messages: { role: string; content: string }[] }).messages,
  );
  assert.deepEqual(
    asked.map((messages) => messages.map(({ role }) => role)),
    [
      ["system", "user"],
      ["system", "user", "assistant", "user"],
    ],
  );
  assert.equal(asked[1]?.[2]?.content, "<think> Where? <|begin_of_query|> France <|end_of_query|>");
  assert.match(segments[0]?.text ?? "", /<think>$/);
  assert.equal(segments[1]?.text, " Where? <|begin_of_query|> France <|end_of_query|>");
});

test("a server of bare completions is sent the text so far, in the template of the tokenizer's folder", async () => {
  await using server = await startFaultServer(reply({ stop_reason: "</search>" }));
  const { answer } = await agentOn(server, "completions")(question);
  assert.equal(answer, undefined, "the server said that </search> ended the answer");
  const folder = join(projectRoot, "world", "checkpoint");
  const tokenizer = withoutMarks(await Tokenizer.load(folder));
  const chatTemplate = await ChatTemplate.load(folder);
  await using honest = await startFaultServer(reply());
  const completions = new Completions({ url: honest.url, model: "m", api: "completions", transport });
  const parts = { ...common, engine: endpointSource({ completions, tokenizer }), tokenizer, chatTemplate };
  await baselineAgent({ ...parts, search: recordedSearch() }, "direct")(question);
  const { prompt } = (honest.asked[0] as Asked).body as { prompt: string };
  assert.equal(honest.asked[0]?.url, "/v1/completions");
  assert.match(prompt, /^<\|user\|>Answer the given question\.[\s\S]*<\|assistant\|>$/);
});

test("a stop string that a server cut off is put back: the one it tells, or the tag that is open", () => {
  const stop = ["</search>", "</answer>"];
  const cases: [string, Parameters<typeof endOf>[1], string, string][] = [
    ["<search> x ", { finish: "stop", stop }, "<search> x </search>", "stop"],
    ["<search> x </search> <answer> y", { finish: "stop", stop }, "<search> x </search>", "stop"],
    ["say <answer> y", { finish: "stop", stop, stopText: "</answer>" }, "say <answer> y</answer>", "stop"],
    ["a <search> b <answer> c", { finish: "stop", stop }, "a <search> b <answer> c</answer>", "stop"],
    ["done", { finish: "stop", stop }, "done", "eos"],
    ["<search> x", { finish: "length", stop }, "<search> x", "length"],
    ["Follow up: x?\n", { finish: "stop", stop: ["Intermediate answer:"] }, "Follow up: x?\n", "eos"],
    [
      "<|begin_of_query|> x ",
      { finish: "stop", stop: ["<|end_of_query|>"] },
      "<|begin_of_query|> x <|end_of_query|>",
      "stop",
    ],
  ];
  for (const [text, how, whole, end] of cases) assert.deepEqual(endOf(text, how), { text: whole, stop: end });
});

test("a server that is down, slow, erring or talks nonsense fails by name; an empty turn is only invalid", async () => {
  await using server = await startFaultServer(reply());
  const agent = agentOn(server, "chat");
  const faults = [
    ["hang", /no whole answer within 300 ms/],
    [{ status: 500, body: "oops" }, /expected status 200, got 500: oops/],
    [{ status: 400, body: "too long" }, /expected status 200, got 400: too long/],
    ["garbage", /expected JSON, got <html>no/],
    ["shape", /choices/],
  ] as const;
  for (const [behaviour, message] of faults) {
    server.otherwise = behaviour;
    await assert.rejects(agent(question), { code: "ERR_REMOTE", message });
  }
  server.otherwise = { status: 200, body: `{"choices": []}` };
  await assert.rejects(agent(question), { code: "ERR_REMOTE", message: /choices/ });
  const nothing = JSON.stringify({ choices: [{ message: { content: null }, finish_reason: "stop" }] });
  server.otherwise = { status: 200, body: nothing };
  const { answer, stop, invalidActions } = await agent(question);
  assert.deepEqual([answer, stop, invalidActions], [undefined, "eos", defaultLimits.maxTurns]);
  server.otherwise = "answer";
  // One failure is asked again.
  server.script.push({ status: 503 });
  assert.equal((await agent(question)).answer, "Paris");
  const { stop: aborted } = await agent(question, { signal: AbortSignal.abort() });
  assert.equal(aborted, "aborted");
  await server.stop();
  await assert.rejects(agent(question), { code: "ERR_REMOTE", message: /ECONNREFUSED/ });
});

test("a server's memory stack: what was taken back is not sent again, and feedback stays the assistant's", async () => {
  const turns = ["<search> France ", "<backtrack> not there ", "<answer> Paris "];
  let turn = 0;
  await using server = await startFaultServer(() => ({ choices: [{ message: { content: turns[turn++] } }] }));
  const completions = new Completions({ url: server.url, model: "m", transport });
  const tokenizer = wordCodec();
  const memory = { ...defaultMemory, stateValue: "none" } as const;
  const format = { ...common.format, parse: stackParser(), turnEnds: stackTurnEnds(), memory };
  const engine = endpointSource({ completions, tokenizer });
  const parts = {
    ...common,
    format,
    engine,
    tokenizer,
    search: recordedSearch(),
    chatTemplate: messageMarks,
  };
  const { answer, memory: record } = await searchAgent(parts)(question);
  assert.deepEqual([answer, record?.actions.map(({ popped }) => popped)], ["Paris", [0, 1, 0]]);
  const [, second, third] = server.asked.map(
    ({ body }) => (body as { messages: { content: string }[] }).messages,
  );
  assert.match(second?.at(-1)?.content ?? "", /about France/);
  assert.deepEqual(third, [
    { role: "user", content: common.format.prompt(question.question) },
    { role: "assistant", content: "<backtrack> not there </backtrack>" },
  ]);
  const measured = { ...parts, format: { ...format, memory: defaultMemory } };
  turn = 2;
  await assert.rejects(searchAgent(measured)(question), { code: "ERR_ARGUMENT", message: /entropies/ });
});

test("a sequence of texts forgets in the middle of a part too", async () => {
  const asked: unknown[] = [];
  const completions = {
    api: "completions",
    complete: async ({ prompt }: { readonly prompt: unknown }) => {
      asked.push(prompt);
      return { text: "and so on", finish: "stop" as const };
    },
  } as const;
  const tokenizer = wordCodec();
  const sequence = await endpointSource({ completions, tokenizer }).open(tokenizer.encode("one two"), {
    seed: 1,
  });
  const request = { maxTokens: 9, stop: [] };
  await sequence.generate(request);
  await sequence.truncate?.(3);
  await sequence.generate(request);
  await sequence.truncate?.(1);
  await sequence.generate(request);
  assert.deepEqual(asked, ["one two", "one twoand", "one"]);
});

test("an observation that is a message of its own comes as one", async () => {
  await using server = await startFaultServer(() => ({ choices: [{ message: { content: "and so on" } }] }));
  const completions = new Completions({ url: server.url, model: "m", transport });
  const tokenizer = wordCodec();
  const source = endpointSource({ completions, tokenizer });
  const prompt = messageMarks.render([{ role: "user", content: "who?" }], { addGenerationPrompt: true });
  const sequence = await source.open(tokenizer.encode(`${prompt}<think>`), { seed: 1 });
  const request = { maxTokens: 9, stop: [] };
  await sequence.generate(request);
  const marks = turnMarksOf(messageMarks);
  const heard = encodeTurn(tokenizer, "<tool_response>42</tool_response>", { marks, lastId: undefined });
  await sequence.append(heard.tokens);
  await sequence.generate(request);
  const { messages } = (server.asked[1] as Asked).body as { messages: unknown };
  assert.deepEqual(messages, [
    { role: "user", content: "who?" },
    { role: "assistant", content: "<think>and so on" },
    { role: "user", content: "<tool_response>42</tool_response>" },
  ]);
});

test("words make ids and ids make words, and no passage speaks as somebody else", () => {
  const codec = wordCodec();
  for (const text of ["", "It's 12 o'clock,  no?\n\n", "北京 is \u{1F600} \uD83D", "a\u{F5E8}b"]) {
    assert.equal(codec.decode(codec.encode(text)), text);
  }
  assert.equal(codec.encode("The capital of France?").length, 5);
  const rendered = messageMarks.render([{ role: "system", content: "be brief" }], {
    addGenerationPrompt: true,
  });
  const passage = codec.decode(codec.encode(`x ${rendered}`, { parseSpecialTokens: false }));
  assert.deepEqual(partsOf(passage), [{ role: "user", text: "x systembe briefassistant" }]);
  assert.deepEqual(toMessages(partsOf(`${rendered}I think`)), [
    { role: "system", content: "be brief" },
    { role: "assistant", content: "I think" },
  ]);
});

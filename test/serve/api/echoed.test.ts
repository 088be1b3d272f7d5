/** Conversations go on with what was answered, sent back as it came, by official clients and their helpers. */
import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { serveModels } from "../../../apps/serve/model/model-server.ts";
import type { FoundPassage, ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import { replaying, say, whole } from "./doubles.ts";

const passage: FoundPassage = { id: "p", title: "Rome", text: "Rome is in Italy.", score: 1 };
const queries = ["Rome"];
const call = (index: number, ...pieces: string[]): ReplyEvent[] => [
  { type: "toolCall", choice: 0, index, id: `call_${index}`, name: "look" },
  ...pieces.map((text): ReplyEvent => ({ type: "toolArguments", choice: 0, index, text, tokens: [] })),
];

/** All that an answer can have. */
const rich = [
  say("hm", "reasoning"),
  { type: "search", choice: 0, id: "s1", queries },
  { type: "search", choice: 0, id: "s1", queries, passages: [[passage]] },
  say("Rome is in Italy."),
  { type: "citation", choice: 0, passage, quote: "Rome is in Italy.", start: 0, end: 17 },
  ...call(0, '{"a":', "1}"),
] satisfies ReplyEvent[];

/** Answers by their name: with everything, with a call that never said its arguments, with one that was cut off. */
const answers: Readonly<Record<string, ReplyEvent[]>> = {
  "all that there is": whole(rich, { reason: "tool_calls" }),
  "nothing said": whole([say("")]),
  "a call without arguments": whole(call(0), { reason: "tool_calls" }),
  "a call that was cut off": whole(call(0, '{"a": "lon'), { reason: "length" }),
};

async function served(t: TestContext, events: ReplyEvent[]) {
  const model = replaying(events);
  const server = await serveModels({ models: [model], port: 0 });
  t.after(() => server.close({ graceMs: 0 }));
  const openai = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: "none", maxRetries: 0 });
  const anthropic = new Anthropic({ baseURL: server.url, apiKey: "none", maxRetries: 0 });
  /** What the model is told of its own answer. */
  const told = () => {
    const message = model.asked.at(-1)?.messages.find(({ role }) => role === "assistant");
    const [first] = (message?.tool_calls ?? []) as { function: { arguments: string } }[];
    return [message?.content, message?.reasoning_content, first?.function.arguments];
  };
  return { openai, anthropic, told };
}

const expected: Readonly<Record<string, readonly (string | undefined)[]>> = {
  "all that there is": ["Rome is in Italy.", "hm", '{"a":1}'],
  "nothing said": ["", undefined, undefined],
  "a call without arguments": ["", undefined, "{}"],
  "a call that was cut off": ["", undefined, "{}"],
};

const hi = { role: "user", content: "Hi" } as const;
const result = { role: "tool", tool_call_id: "call_0", content: "3" } as const;

for (const [name, events] of Object.entries(answers)) {
  const hasCall = name !== "nothing said";

  test(`chat completions go on after ${name}, whole, streamed and parsed`, async (t) => {
    const { openai, told } = await served(t, events);
    const { completions } = openai.chat;
    const first = { model: "small", messages: [hi] };
    const tools = [{ type: "function", function: { name: "look", parameters: {}, strict: true } }] as const;
    const whole = await completions.create(first);
    const streamed = await completions.stream(first).finalChatCompletion();
    const isCut = whole.choices[0]?.finish_reason === "length";
    const parsed = isCut ? whole : await completions.parse({ ...first, tools: [...tools] });
    for (const { choices } of [whole, streamed, parsed]) {
      const message = choices[0]?.message;
      assert.ok(message);
      await completions.create({ ...first, messages: [hi, message, ...(hasCall ? [result] : []), hi] });
      const [content, reasoning, args] = told();
      assert.deepEqual([content, args], [expected[name]?.[0], expected[name]?.[2]]);
      assert.ok(reasoning === expected[name]?.[1]);
    }
  });

  test(`responses go on after ${name}, whole, streamed and without being kept`, async (t) => {
    const { openai, told } = await served(t, events);
    const first = { model: "small", input: [hi], store: false, include: ["reasoning.encrypted_content"] };
    const asked = first as OpenAI.Responses.ResponseCreateParamsNonStreaming;
    const whole = await openai.responses.create(asked);
    const streamed: OpenAI.Responses.Response = await openai.responses
      .stream(asked as object)
      .finalResponse();
    for (const { output } of [whole, streamed]) {
      const calls = output.filter((each) => each.type === "function_call");
      const outputs = calls.map(({ call_id }) => ({ type: "function_call_output", call_id, output: "3" }));
      const input = [hi, ...output, ...outputs, hi] as OpenAI.Responses.ResponseInput;
      await openai.responses.create({ ...asked, input });
      assert.deepEqual(told(), expected[name]);
    }
  });

  test(`messages go on after ${name}, whole, streamed and of the beta`, async (t) => {
    const { anthropic, told } = await served(t, events);
    const first = { model: "small", max_tokens: 20, messages: [hi] };
    const answers = [
      await anthropic.messages.create(first),
      await anthropic.messages.stream(first).finalMessage(),
      await anthropic.beta.messages.create({ ...first, betas: ["context-management-2025-06-27"] }),
    ] as Anthropic.Message[];
    for (const message of answers) {
      const used = message.content.filter((block) => block.type === "tool_use");
      const results = used.map(({ id }) => ({ type: "tool_result", tool_use_id: id, content: "3" }) as const);
      const content = [...results, { type: "text", text: "and?" } as const];
      const { role, content: said } = message;
      for (const answer of [message, { role, content: said }]) {
        await anthropic.messages.create({ ...first, messages: [hi, answer, { role: "user", content }] });
        const [text, reasoning, args] = told();
        assert.deepEqual([text, reasoning], expected[name]?.slice(0, 2));
        assert.ok(args === undefined || typeof JSON.parse(String(args)) === "object");
      }
    }
  });
}

/** Conversations of any length have the prompts that their template makes of them, written on a thread of their own where they are long. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promptText, replyBeginning } from "../../apps/serve/generation/conversation-prompt.ts";
import { ModelStyle } from "../../apps/serve/reading/model-style.ts";
import { type AskedPrompt, heldReply, writtenPrompt } from "../../apps/serve/reading/written-prompt.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { idsOfPrompt, textOfPrompt } from "../../lib/text/tokenizers/spelt-marks.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { checkpoint, servedWorld } from "./model/served.ts";

const source =
  "{{ tools | tojson if tools else '' }}{{ mood }}{% for m in messages %}{% if m.role == 'odd' %}{{ raise_exception('no odd ones') }}{% endif %}" +
  "<|im_start|>{{ m.role }}\n{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}" +
  "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}{# </think> #}";
const template = new ChatTemplate(source);
const style = new ModelStyle(template);
const tokenizer = await Tokenizer.load(checkpoint);
const writer = { template, style, tokenizer };

const many = Array.from({ length: 2000 }, (_, i) => ({
  role: i % 2 ? "assistant" : "user",
  content: `hi ${i}`,
}));
const [mark = ""] = tokenizer.specialTokens.keys();
const call = { id: "a", type: "function", function: { name: "find", arguments: '{"a": "\\ud83d"}' } };
const tools = Array.from({ length: 300 }, (_, i) => ({
  ...{ name: `find_${i}`, description: "Finds.", strict: true },
  parameters: { type: "object", properties: { a: { enum: [i, "b"] } }, required: ["a"] },
}));
const plain: Omit<AskedPrompt, "messages"> = {
  ...{ continuesLast: false, tools: [], toolChoice: "auto", variables: { mood: "é\ud800😀" } },
  addGenerationPrompt: true,
};
const asked: Readonly<Record<string, AskedPrompt>> = {
  "thousands of messages": { ...plain, messages: many },
  "a long text with marks": {
    ...plain,
    messages: [{ role: "user", content: `${"\ud83d😀x ".repeat(20_000)}${mark}` }],
  },
  "calls and tools": {
    ...{ ...plain, tools, toolChoice: "required" },
    held: { parallelToolCalls: true, constraint: undefined },
    messages: [{ role: "user", content: "a" }, { role: "assistant", tool_calls: [call] }, ...many],
  },
  "a message that goes on": {
    ...plain,
    continuesLast: true,
    messages: [...many, { role: "assistant", content: "and " }],
  },
};

for (const [name, each] of Object.entries(asked))
  test(`a long conversation has the prompt that it has where it is written at once: ${name}`, async () => {
    const written = writtenPrompt(each, writer);
    const whole = textOfPrompt(written);
    assert.equal(await promptText(each, writer), whole);
    const watched = {
      ...writer,
      template: Object.assign(Object.create(template), { render: () => assert.fail("here") }),
    };
    const { ids, end, constraint } = await replyBeginning(each, watched, { contextTokens: 1_000_000 });
    assert.deepEqual(ids, idsOfPrompt(written, tokenizer));
    assert.ok(whole.endsWith(end) && end.length >= 500, end);
    assert.deepEqual(constraint, heldReply(each, writer, whole));
  });

test("a long conversation that the template refuses, and one that is too long, are refused as short ones are", async () => {
  const options = { contextTokens: 1000 };
  const odd = [...many, { role: "odd", content: "a" }];
  const long = { ...plain, messages: many };
  for (const messages of [odd, odd.slice(-1)])
    await assert.rejects(replyBeginning({ ...plain, messages }, writer, options), {
      ...{ code: "invalid_request", message: /^messages: .*no odd ones/ },
    });
  await assert.rejects(replyBeginning(long, writer, options), { code: "context_length_exceeded" });
});

test("others have their turn while a long conversation is written", async () => {
  let isDone = false;
  const text = promptText(asked["thousands of messages"] as AskedPrompt, writer).finally(() => {
    isDone = true;
  });
  let numTurns = 0;
  for (; !isDone; numTurns++) await nextTurn();
  assert.ok(numTurns > 3, `${numTurns} turns`);
  await text;
});

test("a number that JSON can spell and nobody can write again is the request's fault, everywhere", async (t) => {
  const { url } = await servedWorld(t);
  const schema = '{"type":"object","properties":{"n":{"type":"number","maximum":1e999}}}';
  const asked = '"messages":[{"role":"user","content":"Hi"}]';
  const bodies = [
    ["/v1/chat/completions", `{${asked},"chat_template_kwargs":{"a":1e999}}`],
    [
      "/v1/chat/completions",
      `{${asked},"tools":[{"type":"function","function":{"name":"f","parameters":${schema}}}]}`,
    ],
    ["/v1/responses", `{"input":"Hi","tools":[{"type":"function","name":"f","parameters":${schema}}]}`],
    [
      "/v1/messages",
      `{"max_tokens":9,"messages":[{"role":"user","content":"a"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"a":1e999}}]}]}`,
    ],
    ["/apply-template", `{${asked},"chat_template_kwargs":{"a":1e999}}`],
  ];
  for (const [path, body] of bodies) {
    const answer = await fetch(`${url}${path}`, { method: "POST", body });
    assert.equal(answer.status, 400, `${path} ${body}\n${await answer.text()}`);
  }
});

test("more ids than are decoded at once are refused by their number", async (t) => {
  const { url } = await servedWorld(t);
  const body = JSON.stringify({ tokens: Array.from({ length: 70_000 }, () => 1) });
  const answer = await fetch(`${url}/detokenize`, { method: "POST", body });
  assert.equal(answer.status, 400);
  assert.match(await answer.text(), /expected at most 65536 ids, got 70000/);
});

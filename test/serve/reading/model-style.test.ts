/** A model's style puts its template, its format and what is asked together. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ModelStyle } from "../../../apps/serve/reading/model-style.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { functions, together } from "./replies.ts";

const qwen = new ChatTemplate(
  "{{ tools | tojson if tools else '' }}{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}" +
    "{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>\n{% endfor %}" +
    "{% if add_generation_prompt %}<|im_start|>assistant\n<think>\n{% endif %}{# </think> #}",
);
const messages = [{ role: "user", content: "Hi" }];
const tools = functions.map((each) => ({ ...each, description: "Any." }));
const asked = { messages, tools, toolChoice: "required", parallelToolCalls: true } as const;

test("a conversation, its reply's constraint and its reader go together", () => {
  const style = new ModelStyle(qwen);
  assert.deepEqual([style.facts.format.name, style.facts.knowsReasoning], ["hermes", true]);
  assert.ok(style.marks.includes("</think>") && style.marks.includes("<tool_call>"));
  const { tools: shown = [], ...rest } = style.conversation(asked);
  assert.equal(shown.length, 2);
  const prompt = qwen.render(rest.messages, { tools: shown, addGenerationPrompt: true });
  assert.deepEqual(Object.keys(style.constraint(asked, prompt) ?? {}), ["structuralTag"]);
  const reader = style.reader<number>(asked, prompt);
  const text = 'hm</think><tool_call>{"name": "get_time", "arguments": {}}</tool_call>';
  const parts = together([...reader.push({ text, tokens: [] }), ...reader.end()]);
  assert.deepEqual(parts, [{ reasoning: "hm" }, { name: "get_time", arguments: "{}" }]);
});

test("tools that must not be called are neither shown nor read", () => {
  const style = new ModelStyle(qwen, "generic");
  const none = { ...asked, toolChoice: "none" } as const;
  assert.equal(style.conversation(none).tools, undefined);
  assert.equal(style.constraint(none, ""), undefined);
  const call = '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>';
  const reader = style.reader<number>(none, "");
  assert.deepEqual(together([...reader.push({ text: call, tokens: [] }), ...reader.end()]), [{ text: call }]);
});

test("an unknown format is refused with those there are", () => {
  const message = /reply format: expected one of deepseek-r1, .*, generic, got "gemma"/;
  assert.throws(() => new ModelStyle(qwen, "gemma"), { code: "ERR_ARGUMENT", message });
});

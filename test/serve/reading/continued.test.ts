/** Prompts that end within a message, and replies that go on with it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ModelStyle } from "../../../apps/serve/reading/model-style.ts";
import { upToMark } from "../../../apps/serve/reading/templates/continued.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { sharedData, skipWithoutData } from "../../shared-data.ts";
import { functions, together } from "./replies.ts";

const user = { role: "user", content: "Which city is the capital of France?" };
const free = { tools: [], toolChoice: "auto", parallelToolCalls: true } as const;

/** Writes messages as they are, or without the white space around them. */
const template = (content: string): ChatTemplate =>
  new ChatTemplate(
    `{% for m in messages %}<{{ m.role }}>{{ ${content} }}</{{ m.role }}>{% endfor %}{# </think> #}`,
  );

function promptOf(chat: ChatTemplate, content: string): string | undefined {
  const messages = [user, { role: "assistant", content }];
  const conversation = new ModelStyle(chat).conversation({ ...free, messages, continuesLast: true });
  return upToMark(chat.render(conversation.messages));
}

test("white space at the end of a message stays where the template keeps it, and goes where it takes it off", () => {
  const begun = `<user>${user.content}</user><assistant>`;
  assert.equal(promptOf(template("m.content"), "It is \n"), `${begun}It is \n`);
  assert.equal(promptOf(template("m.content | trim"), "It is \n"), `${begun}It is`);
  assert.equal(promptOf(template("m.content"), ""), begun);
  assert.equal(promptOf(template("''"), "It is"), undefined);
});

test("real templates end where the whole conversation has the same words", { skip: skipWithoutData }, () => {
  const path = sharedData("chat-templates", "templates.json");
  const sources = JSON.parse(readFileSync(path, "utf8")) as Record<string, string>;
  const begun = "The capital of France is the city of";
  for (const [name, source] of Object.entries(sources)) {
    const chat = new ChatTemplate(source, { bos_token: "<s>", eos_token: "</s>" });
    // They write conversations with functions only.
    if (/firefunction|Hermes|plus-tool_use/.test(name)) continue;
    const whole = chat.render([user, { role: "assistant", content: begun }]);
    // What Hugging Face defines: the conversation's own rendering, cut behind the message's last word.
    assert.equal(promptOf(chat, begun), whole.slice(0, whole.lastIndexOf(begun) + begun.length), name);
  }
});

/** What a reply says that goes on with a message. */
function goingOn(content: string, reply: string, asked: object = free) {
  const style = new ModelStyle(template("m.content"));
  const messages = [user, { role: "assistant", content }];
  const reader = style.reader<number>({ ...free, ...asked, messages, continuesLast: true }, content);
  return together([...[...reply].flatMap((text) => reader.push({ text, tokens: [] })), ...reader.end()]);
}

test("a text that goes on keeps the white space that it goes on with, and thoughts do too", () => {
  assert.deepEqual(goingOn("It is", " Paris."), [{ text: " Paris." }]);
  assert.deepEqual(goingOn("<think>It is", " Paris.</think>Paris."), [
    { reasoning: " Paris." },
    { text: "Paris." },
  ]);
  assert.deepEqual(goingOn("<think>It is Paris.</think>It is", " Paris."), [{ text: " Paris." }]);
});

test("calls are read behind a text that was begun, and thoughts are no more", () => {
  const call = '<tool_call>{"name": "get_time", "arguments": {}}</tool_call>';
  assert.deepEqual(goingOn("I look", ` it up.${call}`, { tools: functions }), [
    { text: " it up." },
    { name: "get_time", arguments: "{}" },
  ]);
  assert.deepEqual(goingOn("The mark", "<think>"), [{ text: "<think>" }]);
});

test("what a reply is held to begins where the reply does: behind thoughts that go on, at once in a text", () => {
  const style = new ModelStyle(template("m.content"));
  const held = (content: string) => {
    const messages = [user, { role: "assistant", content }];
    const asked = { ...free, messages, continuesLast: true, constraint: { regex: "a+" } };
    return JSON.stringify(style.constraint(asked, content)?.structuralTag);
  };
  const form = '{"type":"regex","pattern":"a+"}';
  assert.equal(held("It is"), form);
  assert.match(held("<think>It is"), /^\{"type":"sequence","elements":\[\{"type":"tag","begin":"",/);
});

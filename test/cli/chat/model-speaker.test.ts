/** A conversation through one sequence: what it answers, and what it reads of each turn. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { ModelSpeaker } from "../../../apps/cli/chat/model-speaker.ts";
import type { ChatMessage, Reply } from "../../../apps/cli/chat/speaker.ts";
import { openLocalPolicy } from "../../../lib/engine/local-policy.ts";
import { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import { writeTinyModel } from "../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
await writeTinyModel(folder);
const template =
  "{% for m in messages %}{{ m.role }}: {{ m.content }}<|end|>\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}";
/** Writes earlier answers in another way than they were given, as templates of thinking models do. */
const forgetful = template.replace(
  "{{ m.content }}",
  "{{ m.content if m.role != 'assistant' else 'something' }}",
);
const config = JSON.parse(await readFile(join(folder, "tokenizer_config.json"), "utf8"));
await writeFile(
  join(folder, "tokenizer_config.json"),
  JSON.stringify({ ...config, chat_template: template }),
);

const signal = new AbortController().signal;
// Printable letters alone: bytes that are no text would come back as others.
const letters = Array.from({ length: 257 }, (_, id) => id).filter((id) => !(id >= 97 && id <= 122));
const generate = {
  maxTokens: 6,
  temperature: 1,
  logitBias: Object.fromEntries(letters.map((id) => [id, Number.NEGATIVE_INFINITY])),
};

async function replyOf(speaker: ModelSpeaker, messages: readonly ChatMessage[]): Promise<Reply> {
  const pieces = speaker.reply(messages, signal);
  let shown = "";
  for (;;) {
    const { value, done } = await pieces.next();
    if (done) {
      assert.equal(shown, value.content, "what is shown is the answer");
      return value;
    }
    shown += value;
  }
}

/** Turns of a conversation, and the tokens that each of them read. */
async function turns(chatTemplate: ChatTemplate, questions: readonly string[]) {
  await using policy = await openLocalPolicy({ model: folder }, { promptLookup: false });
  const { engine, tokenizer } = policy;
  const speaker = new ModelSpeaker({ engine, tokenizer, chatTemplate }, { generate, seed: 3 });
  const messages: ChatMessage[] = [];
  const read: number[] = [];
  let before = 0;
  for (const content of questions) {
    messages.push({ role: "user", content });
    const { content: answer } = await replyOf(speaker, messages);
    messages.push({ role: "assistant", content: answer });
    const { numPrefilled } = await engine.stats();
    read.push(numPrefilled - before);
    before = numPrefilled;
  }
  speaker.close();
  assert.equal((await engine.stats()).numSequences, 0);
  return { messages, read };
}

test("each turn reads what was typed and the marks around it, and no token twice", async () => {
  const { read } = await turns(new ChatTemplate(template), ["Hello there", "And you?", "Why?"]);
  // A token is a byte; a turn ends with a mark and a line feed. The last token of a prompt is counted as the one that
  // samples, and the last one that was sampled is read with what follows it.
  const endOfTurn = 2;
  const expected = ["Hello there", "And you?", "Why?"].map((text, i) => {
    const typed = `user: ${text}`.length + endOfTurn + "assistant: ".length - 1;
    return i === 0 ? typed : 1 + endOfTurn + typed;
  });
  assert.deepEqual(read, expected);
});

test("answers are those of a conversation that is read as a whole", async () => {
  const { messages } = await turns(new ChatTemplate(template), ["Hello there", "And you?"]);
  await using policy = await openLocalPolicy({ model: folder }, {});
  const { engine, tokenizer } = policy;
  const prompt = new ChatTemplate(template).render(
    messages.slice(0, 3).map((each) => ({ ...each })),
    {
      addGenerationPrompt: true,
    },
  );
  const { ids } = await engine.open(tokenizer.encode(prompt), { seed: 3 }).generate(generate);
  assert.equal(tokenizer.decode(ids), messages[3]?.content);
});

test("a template that writes earlier answers anew is read anew from there, with the answers of a whole reading", async () => {
  const { messages, read } = await turns(new ChatTemplate(forgetful), ["Hello there", "And you?"]);
  await using policy = await openLocalPolicy({ model: folder }, {});
  const { engine, tokenizer } = policy;
  const prompt = new ChatTemplate(forgetful).render(
    messages.slice(0, 3).map((each) => ({ ...each })),
    {
      addGenerationPrompt: true,
    },
  );
  const { ids } = await engine.open(tokenizer.encode(prompt), { seed: 3 }).generate(generate);
  assert.equal(tokenizer.decode(ids), messages[3]?.content);
  assert.ok(read[1]! < prompt.length, "what comes before is not read again");
});

test("an answer that is stopped stays as far as it was said", async () => {
  await using policy = await openLocalPolicy({ model: folder }, {});
  const { engine, tokenizer } = policy;
  const chatTemplate = new ChatTemplate(template);
  const speaker = new ModelSpeaker(
    { engine, tokenizer, chatTemplate },
    { generate: { ...generate, maxTokens: 900 }, seed: 3 },
  );
  const stop = new AbortController();
  const pieces = speaker.reply([{ role: "user", content: "Hi" }], stop.signal);
  let said = "";
  for (;;) {
    const { value, done } = await pieces.next();
    if (done) {
      assert.deepEqual(value, { content: said, note: "stopped" });
      break;
    }
    said += value;
    if (said.length > 3) stop.abort();
  }
  assert.ok(said.length < 900);
  const asked = [
    { role: "user", content: "Hi" },
    { role: "assistant", content: said },
    { role: "user", content: "On" },
  ] as const;
  assert.ok((await replyOf(speaker, asked)).content.length > 0);
});

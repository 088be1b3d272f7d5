/** Lines of SFT data, read and encoded. */
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { sftSequence } from "../../../lib/train/batch/sequence.ts";
import { writeDemonstration } from "../../../lib/train/curate/demonstration.ts";
import { readDemonstrations, tokensOf } from "../../../lib/train/curate/read-demonstrations.ts";
import { characters } from "../../rollout/doubles.ts";
import { answering } from "./scripted.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const file = join(folder, "data.jsonl");

/** Marks in angle brackets around every message. */
const chatTemplate = {
  render: (messages: readonly { role: string; content: string }[], how: { addGenerationPrompt: boolean }) =>
    messages.map(({ role, content }) => `<${role}>${content}</>\n`).join("") +
    (how.addGenerationPrompt ? "<assistant>" : ""),
};

async function read(...rows: readonly object[]) {
  await writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));
  const all = [];
  for await (const conversation of readDemonstrations(file, { chatTemplate })) all.push(conversation);
  return all;
}

test("ids that were sampled are trained as they are; without them the texts are encoded", async () => {
  // 300 and 301 spell nothing: only ids that are kept can say them.
  const codec = { ...characters, decode: (ids: Iterable<number>) => ([...ids].includes(300) ? "hi" : "?") };
  const prompt = { kind: "prompt", text: "who", tokens: [1, 2] };
  const [conversation] = await read({
    segments: [prompt, { kind: "policy", text: "hi", tokens: [300, 301] }],
  });
  assert.deepEqual([...sftSequence(tokensOf(conversation!, codec)).tokens], [1, 2, 300, 301]);
  const [bare] = await read({ prompt: "a", completion: "b" });
  assert.deepEqual([...sftSequence(tokensOf(bare!, codec)).tokens], [97, 98]);
});

test("ids that say something else are refused with file, line and segment", async () => {
  const [conversation] = await read({ segments: [{ kind: "policy", text: "hi", tokens: [104, 111] }] });
  assert.throws(() => tokensOf(conversation!, characters), {
    code: "ERR_FORMAT",
    message: /data\.jsonl:1, segment 0: expected ids that say "hi", got "ho"/,
  });
});

test("what a turn saw comes before it, and each token is trained in that context", async () => {
  const said = { kind: "policy", text: "b" };
  const rows = [{ kind: "prompt", text: "q" }, said, { kind: "observation", text: "o" }];
  const [conversation] = await read({ segments: [...rows, { ...said, text: "c", visible: [0, 2] }] });
  const { tokens, rows: trained } = sftSequence(tokensOf(conversation!, characters));
  const before = [...trained].map((row) => String.fromCharCode(tokens[row]!, tokens[row + 1]!));
  assert.deepEqual(before.sort(), ["oc", "qb"]);
  await assert.rejects(read({ segments: [{ ...said, visible: [0] }] }), {
    message: /segment 0: expected visible below 0, got 0/,
  });
});

test("a trajectory keeps its ids, except for a student with another tokenizer, who has a prompt of its own", () => {
  const trajectory = answering("q", "yes");
  const own = writeDemonstration(trajectory);
  assert.deepEqual(
    own.map(({ tokens }) => tokens),
    [[1], [2, 3]],
  );
  assert.deepEqual(writeDemonstration(trajectory, "<user>q?"), [
    { kind: "prompt", text: "<user>q?" },
    { kind: "policy", text: "<answer> yes </answer>" },
  ]);
});

test("messages are rendered by the chat template; the model's words are trained with the mark that ends them", async () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "who?" },
    { role: "assistant", content: "Ada" },
    { role: "user", content: "when?" },
    { role: "assistant", content: "1815" },
  ];
  const [conversation] = await read({ id: "m", messages });
  assert.deepEqual(
    [conversation?.id, conversation?.segments],
    [
      "m",
      [
        { kind: "prompt", text: "<system>Be brief.</>\n<user>who?</>\n<assistant>" },
        { kind: "policy", text: "Ada</>" },
        { kind: "prompt", text: "\n<user>when?</>\n<assistant>" },
        { kind: "policy", text: "1815</>" },
      ],
    ],
  );
});

test("Alpaca's rows are conversations with instruction, input and earlier turns", async () => {
  const [conversation] = await read({
    ...{ instruction: "Add.", input: "1 2", output: "3", system: "Sums.", history: [["Hi", "Hello"]] },
  });
  assert.deepEqual(
    conversation?.segments.map(({ text }) => text),
    ["<system>Sums.</>\n<user>Hi</>\n<assistant>", "Hello</>", "\n<user>Add.\n1 2</>\n<assistant>", "3</>"],
  );
});

test("messages without an answer, without a template, or that a template changes are refused by line", async () => {
  await assert.rejects(read({ messages: [{ role: "user", content: "who?" }] }), {
    code: "ERR_FORMAT",
    message: /data\.jsonl:1: expected a message of the assistant, got none/,
  });
  const row = {
    messages: [
      { role: "user", content: "a" },
      { role: "assistant", content: "<think>b</think>c" },
    ],
  };
  await writeFile(file, JSON.stringify(row));
  await assert.rejects(readDemonstrations(file).next(), {
    message: /:1: expected a model with a chat template/,
  });
  const forgetful = {
    render: (...given: Parameters<typeof chatTemplate.render>) =>
      chatTemplate.render(...given).replace(/assistant>.*<\/think>/, "a>"),
  };
  await assert.rejects(readDemonstrations(file, { chatTemplate: forgetful }).next(), {
    message:
      /:1: expected a chat template that keeps what was said, got one that renders message 1 differently/,
  });
});

/** The whole reference data: real vocabularies and 1,862 texts. Skipped without it. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { ChatTemplate, type Message } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { sharedData, skipWithoutData } from "../shared-data.ts";

const read = (file: string): string => readFileSync(sharedData(file), "utf8");

const vocabularies = {
  "qwen2.5": "tokenizers/qwen2.5",
  llama3: "tokenizers/llama3",
  "bert-base-uncased": "tokenizers/bert-base-uncased",
  "llama2-spm": "tokenizers/llama2",
  "t5-spm": "tokenizers/t5/spiece.model",
} as const;

for (const [name, folder] of Object.entries(vocabularies)) {
  test(`${name} gives the reference's ids for every text`, { skip: skipWithoutData }, async () => {
    const tokenizer = await Tokenizer.load(sharedData(folder));
    const texts = JSON.parse(read("tokenizer-oracles/texts.json")) as string[];
    const lines = read(`tokenizer-oracles/${name}.ids.jsonl`).trimEnd().split("\n");
    const wrong = texts.filter((text, i) => JSON.stringify([...tokenizer.encode(text)]) !== lines[i]);
    assert.equal(lines.length, texts.length);
    assert.deepEqual(wrong, []);
  });
}

interface Rendering {
  readonly template: string;
  readonly case: string;
  readonly add_generation_prompt: boolean;
  readonly tools: boolean;
  readonly output?: string;
  readonly error?: string;
}

interface Expected {
  readonly tool: object;
  readonly conversations: Readonly<Record<string, readonly Message[]>>;
  readonly vars: Readonly<Record<string, Record<string, string>>>;
  readonly results: readonly Rendering[];
}

test("real chat templates give the reference's text, or refuse where it refuses", {
  skip: skipWithoutData,
}, () => {
  const sources = JSON.parse(read("chat-templates/templates.json")) as Record<string, string>;
  const expected = JSON.parse(read("chat-templates/expected.json")) as Expected;
  const wrong = expected.results.flatMap((rendering) => {
    const template = new ChatTemplate(
      sources[rendering.template] as string,
      expected.vars[rendering.template],
    );
    const options = {
      addGenerationPrompt: rendering.add_generation_prompt,
      ...(rendering.tools ? { tools: [expected.tool] } : {}),
    };
    const actual = render(template, expected.conversations[rendering.case] as Message[], options);
    return actual === rendering.output ? [] : [{ ...rendering, actual }];
  });
  assert.equal(expected.results.length, 720);
  assert.deepEqual(wrong, []);
});

function render(template: ChatTemplate, messages: readonly Message[], options: object): string | undefined {
  try {
    return template.render(messages, options);
  } catch {
    return undefined;
  }
}

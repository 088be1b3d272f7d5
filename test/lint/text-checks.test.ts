/** Each check of templates, tokenizers and tags fails on a fault made for it, and no other check does. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { lint } from "../../apps/lint/lint.ts";
import type { LintRollout } from "../../apps/lint/subject.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import type { Segment } from "../../lib/rollout/trajectory.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import { assertFails, changedFolder, failuresOf, model, subjectOf } from "./world-subject.ts";

const small = { maxResponseTokens: 64, maxObservationTokens: 64, maxTokens: 1024 };

test("a codec that encodes the policy's words anew is noticed", async () => {
  const subject = await subjectOf();
  const { tokenizer } = subject;
  // One letter a token: what the tokenizer would write otherwise.
  const spell = (text: string): Int32Array => {
    return Int32Array.from([...text].flatMap((letter) => [...tokenizer.encode(letter)]));
  };
  const rollout: LintRollout = async (parts, question, options) => {
    const [trajectory] = await searchAgent(parts).rollouts(question, options);
    const anew = ({ versionRuns: _, ...segment }: Segment): Segment => {
      const tokens = spell(segment.text);
      return { ...segment, tokens, logprobs: new Float32Array(tokens.length) };
    };
    const segments = trajectory!.segments.map((each) => (each.kind === "policy" ? anew(each) : each));
    return [{ ...trajectory!, segments }];
  };
  await assertFails({ ...subject, rollout }, [
    [/what was sampled, id for id/, /^free, sampled id 0: expected \[.*got \[/],
    [/prefix/, /^free, turn 1: the engine held 27 tokens, of which a sequence has 27/],
    [/loss spans/, /is trained and was not sampled/],
    [/end of a turn/, /<\|end\|> ended the turn and is not trained/],
    [/log-probabilities/, /largest gap/],
    [/packing/, /sampled tokens became/],
  ]);
});

test("a prompt that is trained in other words than the engine read is noticed", async () => {
  const subject = await subjectOf();
  const toSequences = (trajectory: Parameters<typeof policySequence>[0]): TrainSequence[] => {
    const sequence = policySequence(trajectory);
    const tokens = sequence.tokens.slice();
    tokens[3] = (tokens[3] ?? 0) + 1;
    return [{ ...sequence, tokens }];
  };
  const failures = await failuresOf({ ...subject, toSequences });
  const prefix = failures.find(({ check }) => check.includes("prefix"));
  assert.match(prefix?.evidence ?? "", /the engine held 27 tokens, of which a sequence has 3/);
});

test("an end of turn that the model's configuration does not name is noticed", async () => {
  const subject = await subjectOf();
  await assertFails({ ...subject, endIds: [0] }, [
    [/end of a turn/, /the chat template ends a turn with <\|end\|> \(1\), expected .*: 0 <\|pad\|>/],
  ]);
  const folder = await changedFolder("tokenizer_config.json", ({ eos_token: _, ...rest }) => rest);
  const [finding] = await failuresOf(await subjectOf({ folder }));
  assert.match(finding?.evidence ?? "", /name no end of text/);
});

test("a chat template that drops every thought is a fault, one that drops earlier ones does it on purpose", async () => {
  const subject = await subjectOf();
  const templateOf = (content: string): ChatTemplate =>
    new ChatTemplate(
      "{% for message in messages %}{{ '<|' + message['role'] + '|>' }}" +
        `{% if message['role'] == 'assistant' %}{{ ${content} + '<|end|>' }}` +
        "{% else %}{{ message['content'] }}{% endif %}{% endfor %}" +
        "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}",
    );
  const linted = (content: string) => ({
    ...subject,
    parts: { ...subject.parts, chatTemplate: templateOf(content) },
  });
  const answerOnly = "message['content'].split('</think>')[-1]";
  await assertFails(linted(answerOnly), [
    [/chat template/, /last turn is rendered without its thought.*a fault/],
  ]);
  const earlier = `(message['content'] if loop.last else ${answerOnly})`;
  const { findings, passed } = await lint(linted(earlier));
  assert.ok(passed);
  const template = findings.find(({ check }) => check.includes("chat template"));
  assert.match(template?.evidence ?? "", /an earlier one without its thought: on purpose/);
  await assertFails(linted("'x'"), [[/chat template/, /last turn is rendered with other words/]]);
});

test("a chat template that loses the system message, does not begin a turn or refuses is noticed", async () => {
  const recipe = { ...reSearch(), limits: { ...reSearch().limits, ...small } };
  const subject = await subjectOf({
    recipe,
    weights: await Model.create({ ...model.config, maxPosition: 4096 }),
  });
  const linted = (template: string) => ({
    ...subject,
    parts: { ...subject.parts, chatTemplate: new ChatTemplate(template) },
  });
  const evidence = async (template: string): Promise<string> => {
    const failures = await failuresOf(linted(template));
    return failures.find(({ check }) => check.includes("chat template"))?.evidence ?? "";
  };
  const loop = "{% for m in messages if m.role != 'system' %}<|{{ m.role }}|>{{ m.content }}{% endfor %}";
  const begin = "{% if add_generation_prompt %}<|assistant|>{% endif %}";
  assert.match(await evidence(loop + begin), /expected the system message in the prompt, got/);
  assert.match(
    await evidence(loop.replace(" if m.role != 'system'", "")),
    /addGenerationPrompt adds nothing/,
  );
  assert.match(await evidence("{{ raise_exception('no system role') }}"), /no system role/);
});

test("a special token that falls into pieces is noticed", async () => {
  const folder = await changedFolder("tokenizer.json", (json) => {
    const tokens = json.added_tokens as { content: string }[];
    return { ...json, added_tokens: tokens.filter(({ content }) => content !== "<|assistant|>") };
  });
  await assertFails(await subjectOf({ folder }), [
    [/tokenizer and model/, /writes <\|assistant\|>, expected one token, got \d+: \[/],
  ]);
});

test("a tokenizer that is larger than the model is noticed", async () => {
  const weights = await Model.create({ ...model.config, vocabSize: 1000 }, { seed: 1 });
  const failures = await failuresOf(await subjectOf({ weights }));
  assert.match(failures[0]?.evidence ?? "", /the tokenizer has 1141 ids, the model weights for 1000/);
  weights.close();
});

test("a beginning of text that is missing from the prompt, or stands twice, is noticed", async () => {
  const folder = await changedFolder("tokenizer_config.json", (json) => ({
    ...json,
    bos_token: "<|system|>",
  }));
  const file = join(folder, "tokenizer.json");
  const begin = { SpecialToken: { id: "<|system|>", type_id: 0 } };
  const special_tokens = { "<|system|>": { id: "<|system|>", ids: [4], tokens: ["<|system|>"] } };
  const single = [begin, { Sequence: { id: "A", type_id: 0 } }];
  const post_processor = { type: "TemplateProcessing", single, pair: [], special_tokens };
  const json = JSON.parse(await readFile(file, "utf8")) as object;
  await writeFile(file, JSON.stringify({ ...json, post_processor }));
  const subject = await subjectOf({ folder });
  assert.deepEqual(await failuresOf(subject), []);

  const { tokenizer, parts } = subject;
  const forgetful = {
    encode: (text: string, { parseSpecialTokens = true } = {}) =>
      tokenizer.encode(text, { parseSpecialTokens }),
    decode: (ids: Int32Array) => tokenizer.decode(ids),
  };
  await assertFails({ ...subject, parts: { ...parts, tokenizer: forgetful } }, [
    [/beginning of text/, /should begin with 4 <\|system\|> once: 0 found/],
  ]);
  const { chatTemplate } = parts;
  const twice = {
    render: (...given: Parameters<NonNullable<typeof chatTemplate>["render"]>) =>
      `<|system|><|system|>${chatTemplate?.render(...given)}`,
  };
  await assertFails({ ...subject, parts: { ...parts, chatTemplate: twice } }, [
    [/beginning of text/, /should begin with 4 <\|system\|> once: 2 found/],
  ]);
});

test("tags that do not survive the tokenizer are noticed", async () => {
  const folder = await changedFolder("tokenizer.json", (json) => ({
    ...json,
    normalizer: { type: "Lowercase" },
  }));
  const failures = await failuresOf(await subjectOf({ folder }));
  const tags = failures.find(({ check }) => check.startsWith("tags"));
  assert.match(tags?.evidence ?? "", /A query.* came back as .*a query/);
});

test("an engine that stops at other bytes than the tokenizer's is noticed", async () => {
  const subject = await subjectOf();
  const { tokenizer } = subject;
  const engine = await Engine.open(model, {
    tokenizer: {
      ...{ vocabSize: tokenizer.vocabSize, eosIds: tokenizer.eosIds },
      tokenBytes: (id) => tokenizer.tokenBytes((id + 1) % tokenizer.vocabSize),
      isSpecial: (id) => tokenizer.isSpecial(id),
    },
  });
  const failures = await failuresOf({ ...subject, parts: { ...subject.parts, engine } });
  const stops = failures.find(({ check }) => check.startsWith("stop strings"));
  assert.match(stops?.evidence ?? "", /goes on after <\/(search|answer)>|ended a turn at token/);
  await engine.close();
});

test("accepted answers of which normalisation leaves nothing are named", async () => {
  const subject = await subjectOf();
  const answered = (...answers: string[]) => ({ id: "q7", question: "Which is right?", answers });
  const questions = [answered("Rome"), answered("Rome", "The"), answered("A")];
  await assertFails({ ...subject, questions }, [[/accepted answers/, /question q7: "The".*\(and 1 more\)/]]);
});

/** The linter passes a sound agent and notices a planted defect of each kind, each in a real part. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { lint } from "../../apps/lint/lint.ts";
import type { LintRollout } from "../../apps/lint/subject.ts";
import { writtenSource } from "../../apps/lint/written.ts";
import { withWorldPrompt, worldRecipe } from "../../apps/world/recipes/world.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { r1Searcher } from "../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import { searchR1 } from "../../lib/recipes/search-r1.ts";
import type { Reward } from "../../lib/reward/reward.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { stackParser, stackTurnEnds } from "../../lib/rollout/grammars/stack-grammar.ts";
import { defaultMemory } from "../../lib/rollout/memory.ts";
import type { Segment } from "../../lib/rollout/trajectory.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import type { TrainSequence } from "../../lib/train/batch/packing.ts";
import { policySequence } from "../../lib/train/batch/sequence.ts";
import { scoreSequences } from "../../lib/train/learner/trainer.ts";
import { assertFails, changedFolder, failuresOf, model, subjectOf } from "./world-subject.ts";

const small = { maxResponseTokens: 64, maxObservationTokens: 64, maxTokens: 1024 };

test("the shipped model and the built-in world break no law", async () => {
  const { passed, findings, conversations } = await lint(await subjectOf());
  assert.deepEqual(
    findings.filter(({ status }) => status !== "pass"),
    [],
  );
  assert.ok(passed && findings.length >= 15);
  const written = conversations.find(({ name }) => name === "written");
  assert.deepEqual(
    written?.spans.map(({ isTrained }) => isTrained),
    [false, true, false, true],
  );
  assert.match(written?.spans[1]?.text ?? "", /^<think>.*<\/search>$/s);
});

test("every recipe's turns are known, so that each law is seen to hold in each", async () => {
  const published = [ragR1({ queries: "single" }), searchR1(), reSearch(), r1Searcher({ stage: 2 })];
  const recipes = [...published, reSearch({ faithful: true })];
  for (const recipe of recipes) {
    const limits = { ...recipe.limits, ...small };
    const subject = await subjectOf({ recipe: { ...withWorldPrompt(recipe), limits } });
    const { findings } = await lint(subject);
    assert.deepEqual(
      findings.filter(({ status }) => status !== "pass"),
      [],
    );
  }
});

test("an agent that plans, takes back and sums up breaks no law: each span is held against what was visible", async () => {
  const recipe = worldRecipe({ queries: "multi" });
  const format = {
    ...recipe.format,
    parse: stackParser(),
    turnEnds: stackTurnEnds(),
    memory: defaultMemory,
  };
  const subject = await subjectOf({ recipe: { ...recipe, format } });
  const turns = [
    "<plan> first who, then where </plan>",
    "<search> who </search>",
    "<backtrack> no </backtrack>",
    "<search> where </search>",
    "<summary> there </summary>",
    "<answer> there </answer>",
  ];
  // Three turns of the free conversation, all of the others.
  for (const from of [0, 2]) {
    const written = turns.slice(from).map((text) => ({ text }));
    const engine = writtenSource(subject.parts.engine, subject.tokenizer, written);
    const score = async (sequences: readonly TrainSequence[]) => {
      return sequences.map(({ rows }) => new Float32Array(rows.length));
    };
    const rollout: LintRollout = (parts, question, options) => {
      return searchAgent({ ...parts, limits: subject.parts.limits }).rollouts(question, options);
    };
    const { findings, conversations } = await lint({
      ...subject,
      parts: { ...subject.parts, engine },
      rollout,
      score,
    });
    const wrong = findings.filter(({ status, law }) => status === "fail" && [1, 2, 3].includes(law ?? 0));
    assert.deepEqual(wrong, []);
    assert.ok(conversations.filter(({ name }) => name === "free").length > 1, "several spans");
  }
});

test("a codec that encodes the policy's words anew is noticed", async () => {
  const subject = await subjectOf();
  const { tokenizer } = subject;
  // One letter a token: what the tokenizer would write otherwise.
  const spell = (text: string): Int32Array => {
    return Int32Array.from([...text].flatMap((letter) => [...tokenizer.encode(letter)]));
  };
  const rollout: LintRollout = async (parts, question, options) => {
    const [trajectory] = await searchAgent(parts).rollouts(question, options);
    const anew = (segment: Segment): Segment => {
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

test("loss spans that are shifted, too long or too short are noticed", async () => {
  const subject = await subjectOf();
  const withRows = (change: (rows: Int32Array, tokens: Int32Array) => Int32Array) => ({
    ...subject,
    toSequences: (trajectory: Parameters<typeof policySequence>[0]): TrainSequence[] => {
      const { tokens, rows } = policySequence(trajectory);
      return [{ tokens, rows: change(rows, tokens) }];
    },
    // Without the rollout's numbers there is nothing to compare them with.
    score: async (sequences: readonly TrainSequence[]) => (await scoreSequences(model, sequences)).logprobs,
  });
  const spans = async (subjectToLint: ReturnType<typeof withRows>): Promise<string> => {
    const failures = await failuresOf(subjectToLint);
    return failures.find(({ check }) => check.includes("loss spans"))?.evidence ?? "";
  };
  const shifted = await spans(withRows((rows) => rows.map((row) => row - 1)));
  assert.match(shifted, /^free: token 26, .* is trained and was not sampled/);
  const all = await spans(
    withRows((_, tokens) => Int32Array.from({ length: tokens.length - 1 }, (__, i) => i)),
  );
  assert.match(all, /^free: token 1, .* is trained and was not sampled/);
  const short = withRows((rows) => rows.subarray(0, -1));
  assert.match(await spans(short), /was sampled and is not trained/);
  const end = (await failuresOf(short)).find(({ check }) => check.includes("end of a turn"));
  assert.match(end?.evidence ?? "", /^1 <\|end\|> ended the turn and is not trained/);
});

test("a trainer with other weights than the generator is noticed", async () => {
  const other = await Model.create(model.config, { seed: 3 });
  await assertFails({ ...(await subjectOf()), model: other }, [
    [/log-probabilities/, /^largest gap .*; expected at most 0\.00001/],
  ]);
  other.close();
});

test("packing that lets one sequence read another is noticed", async () => {
  const subject = await subjectOf();
  const joined = async (sequences: readonly TrainSequence[], options: { readonly maxTokens: number }) => {
    if (options.maxTokens === 1) return (await scoreSequences(model, sequences)).logprobs;
    const tokens = Int32Array.from(sequences.flatMap((each) => [...each.tokens]));
    let start = 0;
    const rows = sequences.flatMap((each) => {
      const own = [...each.rows].map((row) => row + start);
      start += each.tokens.length;
      return own;
    });
    const [scores] = (await scoreSequences(model, [{ tokens, rows: Int32Array.from(rows) }])).logprobs;
    let taken = 0;
    return sequences.map((each) => {
      taken += each.rows.length;
      return scores!.slice(taken - each.rows.length, taken);
    });
  };
  await assertFails({ ...subject, score: joined }, [[/packing/, /a log-probability moves by/]]);
});

test("a trajectory that is cut into rows which overlap is noticed", async () => {
  const subject = await subjectOf();
  const toSequences = (trajectory: Parameters<typeof policySequence>[0]): TrainSequence[] => {
    const sequence = policySequence(trajectory);
    return [sequence, sequence];
  };
  await assertFails({ ...subject, toSequences }, [
    [/what was sampled, id for id/, /expected \d+ trained ids, got \d+/],
    [/loss spans/, /is trained and was not sampled/],
    [/packing/, /sampled tokens became/],
  ]);
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

test("turns that may fill a conversation share its tokens, and still need room", async () => {
  const room = async (maxPosition: number, faithful: boolean) => {
    const weights = await Model.create({ ...model.config, maxPosition });
    const { findings } = await lint(await subjectOf({ recipe: reSearch({ faithful }), weights }));
    return findings.find(({ check }) => check.includes("room"));
  };
  const [whole, original, tight] = [
    await room(16_384, false),
    await room(16_384, true),
    await room(2048, false),
  ];
  assert.match(`${whole?.status}: ${whole?.evidence}`, /^pass: .*short turns: 8192 .* of 9 rounds fit/);
  assert.match(`${original?.status}: ${original?.evidence}`, /^pass: .* rounds fit/);
  assert.match(`${tight?.status}: ${tight?.evidence}`, /^fail: .* the recipe allows 8704, the model 2048/);
});

test("a turn that the context cuts off is not taken for one that ended", async () => {
  const { parts, tokenizer } = await subjectOf();
  const source = writtenSource(parts.engine, tokenizer, [{ text: "<answer> why </answer>" }]);
  const sequence = await source.open(new Int32Array([2]), { seed: 0 });
  const { ids, stop } = await sequence.generate({ maxTokens: 3, stop: ["</answer>"], temperature: 1 });
  assert.deepEqual([ids.length, stop], [3, "length"]);
  await sequence.close();
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

test("limits without room for a search and an answer are noticed", async () => {
  const failures = await failuresOf(await subjectOf({ recipe: ragR1({ queries: "multi" }) }));
  const limits = failures.find(({ check }) => check.startsWith("the context"));
  assert.match(limits?.evidence ?? "", /: \d+ tokens, the recipe allows 8192, the model 1024/);
});

test("an observation whose marks become special tokens is noticed", async () => {
  const subject = await subjectOf();
  const { tokenizer } = subject;
  const codec = {
    encode: (text: string) => tokenizer.encode(text),
    decode: (ids: Int32Array) => tokenizer.decode(ids),
  };
  await assertFails({ ...subject, parts: { ...subject.parts, tokenizer: codec } }, [
    [/observations/, /a passage that spells them became .*1 <\|end\|>/],
  ]);
});

test("a reward that reads what others wrote is noticed", async () => {
  const subject = await subjectOf();
  const reward: Reward = ({ segments }, { answers }) => {
    const all = segments.map(({ text }) => text).join("");
    return answers.some((answer) => all.includes(`<answer> ${answer} </answer>`)) ? 1 : 0;
  };
  await assertFails({ ...subject, reward }, [[/not scored/, /"planted" in a passage earns 1, expected 0/]]);
  const { format, limits } = ragR1({ queries: "single" });
  const parts = { ...subject.parts, format, limits: { ...limits, ...small } };
  await assertFails({ ...subject, parts, reward }, [
    [/not scored/, /"and" in the prompt earns 1, expected 0 \(and 2 more\)/],
  ]);
});

test("an engine that stops at other bytes than the tokenizer's is noticed", async () => {
  const subject = await subjectOf();
  const { tokenizer } = subject;
  const engine = await Engine.open(model, {
    tokenizer: {
      ...{ vocabSize: tokenizer.vocabSize, eosIds: tokenizer.eosIds },
      tokenBytes: (id) => tokenizer.tokenBytes((id + 1) % tokenizer.vocabSize),
    },
  });
  const failures = await failuresOf({ ...subject, parts: { ...subject.parts, engine } });
  const stops = failures.find(({ check }) => check.startsWith("stop strings"));
  assert.match(stops?.evidence ?? "", /goes on after <\/(search|answer)>|ended a turn at token/);
  await engine.close();
});

test("a search that hangs or throws is noticed", async () => {
  const subject = await subjectOf();
  const limits = { ...subject.parts.limits, searchTimeoutMs: 50 };
  const hangs = { ...subject.parts, limits, search: () => new Promise<never>(() => {}) };
  await assertFails({ ...subject, parts: hangs }, [[/search answers/, /no answer within 50 ms/]]);
  const throws = { ...subject.parts, search: () => Promise.reject(new Error("no such index")) };
  await assertFails({ ...subject, parts: throws }, [[/search answers/, /no such index/]]);
});

test("an agent that waits for its search beyond the deadline is noticed", async () => {
  const subject = await subjectOf();
  const patient: LintRollout = (parts, question, options) =>
    searchAgent({ ...parts, limits: { ...parts.limits, searchTimeoutMs: 4_000 } }).rollouts(
      question,
      options,
    );
  await assertFails({ ...subject, rollout: patient }, [
    [/hangs/, /still waiting 3200 ms after a deadline of 200 ms/],
  ]);
});

test("an agent that cannot converse at all is a finding, not a crash", async () => {
  const subject = await subjectOf();
  const rollout: LintRollout = () => Promise.reject(new Error("it broke"));
  await assertFails({ ...subject, rollout }, [[/can be run and scored/, /it broke/]]);
});

test("a linter that is interrupted ends at once and says so", async () => {
  const subject = await subjectOf();
  const stop = new AbortController();
  const linting = lint({ ...subject, signal: stop.signal });
  stop.abort();
  await assert.rejects(linting, { code: "ERR_ABORTED", message: "lint: aborted" });
});

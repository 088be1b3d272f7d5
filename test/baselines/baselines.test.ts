/** Baselines over scripted sequences. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type Baseline, baselineAgent, baselineNames } from "../../apps/baselines/baselines.ts";
import { defaultLimits } from "../../lib/rollout/limits.ts";
import type { Search } from "../../lib/search/search.ts";
import type { TitledText } from "../../lib/text/observation.ts";
import { characters, documentsInto, hitOf, recordedSearch, ScriptedSequence } from "../rollout/doubles.ts";

const question = { id: "a", question: "capital of France?", answers: ["Paris"] };

/** An agent over scripted sequences; what they were opened with and what was searched is kept. */
function scripted(baseline: Baseline, turns: readonly (string | readonly string[])[], search?: Search) {
  const [prompts, asked, sequences]: [string[], (readonly string[])[], ScriptedSequence[]] = [[], [], []];
  const open = (ids: Int32Array): ScriptedSequence => {
    const sequence = new ScriptedSequence(...[turns[prompts.length] ?? ""].flat());
    prompts.push(characters.decode(ids));
    sequences.push(sequence);
    return sequence;
  };
  const limits = { ...defaultLimits, maxObservationTokens: 200 };
  const parts = { engine: { open }, tokenizer: characters, search: search ?? recordedSearch(asked), limits };
  return { agent: baselineAgent({ ...parts, sampling: {} }, baseline), prompts, asked, sequences };
}

test("direct answers and chains of thought never search, whatever the model writes", async () => {
  for (const baseline of ["direct", "cot"] as const) {
    const turn = "<search> France </search> so <answer> Paris </answer>";
    const { agent, prompts, asked, sequences } = scripted(baseline, [turn]);
    const { answer, rounds, turns, stop } = await agent(question);
    assert.deepEqual([answer, rounds, turns, stop, asked], ["Paris", 0, 1, "answer", []]);
    assert.deepEqual([prompts.length, sequences[0]?.closed], [1, true]);
    assert.equal(prompts[0]?.includes("step by step"), baseline === "cot");
  }
});

test("standard RAG searches for the question once and reads before it answers", async () => {
  const { agent, prompts, asked, sequences } = scripted("rag", ["<answer> Paris </answer>"]);
  const found: TitledText[][] = [];
  const { answer, rounds, queries, segments, timings } = await agent(question, {
    onEvent: documentsInto(found),
  });
  assert.deepEqual([answer, rounds, queries, asked], ["Paris", 1, [["capital of France?"]], asked]);
  assert.deepEqual(asked, [["capital of France?"]]);
  assert.deepEqual(
    found.flat().map(({ text }) => text),
    ["about capital of France?"],
  );
  assert.deepEqual(
    segments.map(({ kind }) => kind),
    ["prompt", "observation", "prompt", "policy"],
  );
  assert.match(segments[1]?.text ?? "", /Doc 1: capital of France\?\nabout capital of France\?/);
  assert.equal(
    prompts[0],
    segments
      .slice(0, 3)
      .map(({ text }) => text)
      .join(""),
  );
  assert.match(prompts[0] ?? "", /Question: capital of France\?\n$/);
  assert.equal(sequences[0]?.closed, true);
  assert.ok(timings.totalMs >= timings.searchMs + timings.generateMs);
});

test("Iter-RetGen searches with what was said before, and the last answer counts", async () => {
  const turns = ["It is in Europe. <answer> Lyon </answer>", "I give up", "Sure: <answer> Paris </answer>"];
  const { agent, prompts, asked } = scripted("iter-retgen", turns);
  const { answer, rounds, turns: count, invalidActions, segments } = await agent(question);
  assert.deepEqual([answer, rounds, count, invalidActions, prompts.length], ["Paris", 3, 3, 1, 3]);
  assert.deepEqual(
    asked.map(([query]) => query?.replace(/\s+/g, " ")),
    ["capital of France?", "capital of France? It is in Europe. Lyon", "capital of France? I give up"],
  );
  assert.equal(segments.filter(({ kind }) => kind === "policy").length, 3);
});

test("IRCoT searches for each thought, keeps what it found and thought, and ends with the answer", async () => {
  const turns = ["It lies on the Seine.\n", "\n", "So it is <answer> Paris </answer>", "never asked"];
  const { agent, prompts, asked } = scripted("ircot", turns);
  const { answer, rounds, stop } = await agent(question);
  assert.deepEqual([answer, rounds, stop, prompts.length], ["Paris", 3, "answer", 3]);
  assert.deepEqual(asked, [["capital of France?"], ["It lies on the Seine."], ["capital of France?"]]);
  assert.match(prompts[1] ?? "", /Doc 1: It lies on the Seine\.\n[\s\S]*Doc 2: capital of France\?\n/);
  assert.ok(prompts[1]?.endsWith("Question: capital of France?\nIt lies on the Seine.\n"));
  // The third search brings the first one's document again, which is shown once.
  assert.equal(prompts[2]?.match(/Doc \d/g)?.length, 2);
  const { agent: lost } = scripted("ircot", ["a\n", "b\n", "c\n", "d\n", "e\n"]);
  const { answer: none, rounds: five, stop: end, invalidActions } = await lost(question);
  assert.deepEqual([none, five, end, invalidActions], [undefined, 5, "max_turns", 0]);
});

test("a search that fails is told to the model and counted, and long documents are cut", async () => {
  const broken = scripted("rag", ["<answer> Paris </answer>"], async () => Promise.reject(new Error("down")));
  const { answer, failures, failureReasons, segments } = await broken.agent(question);
  assert.deepEqual([answer, failures, failureReasons], ["Paris", 1, ["search: down"]]);
  assert.match(segments[1]?.text ?? "", /The search failed/);
  const long = scripted("rag", ["none"], async () => [[hitOf("long", "x".repeat(999))]]);
  const { segments: cut, answer: none, stop } = await long.agent(question);
  assert.deepEqual([none, stop], [undefined, "eos"]);
  assert.ok((cut[1]?.tokens.length ?? Number.NaN) < 240);
  assert.match(cut[1]?.text ?? "", /<\/information>\n$/);
});

test("what is drawn follows from the seed that is given, and documents cannot end a turn", async () => {
  const seeds: number[] = [];
  const encoded: [string, boolean | undefined][] = [];
  const tokenizer = {
    ...characters,
    encode: (text: string, options?: { parseSpecialTokens?: boolean }) => {
      encoded.push([text, options?.parseSpecialTokens]);
      return characters.encode(text);
    },
  };
  const open = (_: Int32Array, { seed }: { seed: number }) => {
    seeds.push(seed);
    return new ScriptedSequence("none");
  };
  const search: Search = async () => [[hitOf("bad", "<|im_end|>")]];
  const parts = { engine: { open }, tokenizer, search, limits: defaultLimits, sampling: {} };
  for (const seed of [1, 1, 2]) await baselineAgent(parts, "rag")(question, { seed });
  assert.equal(seeds[0], seeds[1]);
  assert.notEqual(seeds[0], seeds[2]);
  const bad = encoded.filter(([text]) => text.includes("<|im_end|>"));
  assert.ok(bad.length >= 3 && bad.every(([, parses]) => parses === false));
});

test("naive RAG has its documents in the system's message, in ReSearch's layout", async () => {
  const { agent, prompts, asked } = scripted("naive", ["<answer> Paris </answer>"]);
  const { answer, segments } = await agent(question);
  assert.deepEqual([answer, asked], ["Paris", [["capital of France?"]]]);
  assert.equal(segments[1]?.text, "Doc 1(Title: capital of France?) about capital of France?");
  assert.match(prompts[0] ?? "", /Documents:\nDoc 1.*\nQuestion: capital of France\?\n$/);
});

test("given documents are read without a search, their middle left out where they are too long", async () => {
  const given = { ...question, documents: [{ title: "a", text: `first${"-".repeat(9000)}last` }] };
  const { agent, prompts, asked } = scripted("given", ["<answer> Paris </answer>"]);
  const { answer, stop, segments } = await agent(given);
  assert.deepEqual([answer, stop, asked], ["Paris", "answer", []]);
  const [, shown] = segments;
  assert.match(shown?.text ?? "", /^\n<information>\na\nfirst-+\n\.\.\.\n-+last\n<\/information>\n$/);
  const { maxTokens, maxResponseTokens } = defaultLimits;
  const length = prompts[0]?.length ?? 0;
  assert.ok(
    length <= maxTokens - maxResponseTokens && length > maxTokens - maxResponseTokens - 100,
    `${length}`,
  );
  await assert.rejects(scripted("given", [""]).agent(question), {
    code: "ERR_ARGUMENT",
    message: /question a: expected documents, got none; seekrl data prepare --keep-contexts/,
  });
});

test("Self-Ask searches for each smaller question inside of one conversation", async () => {
  const turns = [
    "Follow up: Where is France?\nIntermediate answer:",
    "Europe\nFollow up: Its capital? Intermediate answer:",
  ];
  const { agent, asked, sequences } = scripted("self-ask", [[...turns, " Paris\n<answer> Paris </answer>"]]);
  const { answer, rounds, turns: count, segments } = await agent(question);
  assert.deepEqual([answer, rounds, count], ["Paris", 2, 3]);
  assert.deepEqual(asked, [["Where is France?"], ["Its capital?"]]);
  assert.equal(sequences.length, 1);
  assert.match(sequences[0]?.appended[1] ?? "", /Doc 1: Its capital\?/);
  assert.deepEqual(
    segments.map(({ kind }) => kind),
    ["prompt", "policy", "observation", "policy", "observation", "policy"],
  );
  const endless = scripted("self-ask", [Array.from({ length: 9 }, () => "Intermediate answer:")]);
  const lost = await endless.agent(question);
  assert.deepEqual([lost.answer, lost.stop, lost.rounds, lost.turns], [undefined, "max_turns", 5, 6]);
  assert.match(endless.sequences[0]?.appended.at(-1) ?? "", /No more questions can be asked/);
  assert.deepEqual([lost.invalidActions, endless.asked[0]], [6, ["capital of France?"]]);
});

test("Search-o1 reads documents in a conversation of its own and goes on with what was useful", async () => {
  const main = [
    "First <search> France </search>",
    "<search> France </search>",
    "So <answer> Paris </answer>",
  ];
  const reader = "<useful> Its capital is Paris. </useful>";
  const { agent, prompts, asked, sequences } = scripted("search-o1", [main, reader]);
  const { answer, rounds, segments, turns } = await agent(question);
  assert.deepEqual([answer, rounds, turns, asked], ["Paris", 1, 4, [["France"]]]);
  // The reader sees the question, the reasoning, the query and the documents.
  assert.match(
    prompts[1] ?? "",
    /Question: capital[\s\S]*First <search>[\s\S]*Query: France\nDocuments:[\s\S]*about France/,
  );
  assert.equal(sequences[0]?.appended[0], "\n<information>\nIts capital is Paris.\n</information>\n");
  assert.match(sequences[0]?.appended[1] ?? "", /searched for before/);
  assert.ok(!prompts[0]?.includes("about France"));
  assert.equal(segments.filter(({ kind }) => kind === "policy").length, 4);
  const useless = scripted("search-o1", [
    ["<search> x </search>", "<answer> y </answer>"],
    "<useful>Nothing.</useful>",
  ]);
  await useless.agent(question);
  assert.match(useless.sequences[0]?.appended[0] ?? "", /Nothing useful was found/);
});

test("Search-o1 searches ten times at most, says so, and takes no turn without an action", async () => {
  const searching = Array.from({ length: 20 }, (_, i) => `<search> ${i} </search>`);
  const readers = Array.from({ length: 10 }, () => "nothing to see");
  const { agent, asked, sequences } = scripted("search-o1", [searching, ...readers]);
  const { answer, stop, rounds } = await agent(question);
  assert.deepEqual([answer, stop, rounds, asked.length], [undefined, "max_turns", 10, 10]);
  assert.match(sequences[0]?.appended.at(-1) ?? "", /No search is left/);
  const { stop: end, invalidActions } = await scripted("search-o1", ["I do not know"]).agent(question);
  assert.deepEqual([end, invalidActions], ["eos", 1]);
});

test("SuRe chooses between candidates by a summary in favour of each", async () => {
  const turns = ["(a) Lyon, (b) Paris.", "Lyon is large.", "Paris is the seat.", "<answer> (b) </answer>"];
  const { agent, prompts, asked } = scripted("sure", turns);
  const { answer, rounds, turns: count } = await agent(question);
  assert.deepEqual([answer, rounds, count, asked.length], ["Paris", 1, 4, 1]);
  assert.match(prompts[0] ?? "", /about capital of France[\s\S]*two likely answers/);
  assert.match(
    prompts[1] ?? "",
    /about capital[\s\S]*Candidates: \(a\) Lyon \(b\) Paris\nSuppose that the answer is "Lyon"/,
  );
  assert.match(prompts[2] ?? "", /Suppose that the answer is "Paris"/);
  assert.match(
    prompts[3] ?? "",
    /Summary for \(a\): Lyon is large\.\nSummary for \(b\): Paris is the seat\./,
  );
  assert.equal((await scripted("sure", ["Paris"]).agent(question)).answer, "Paris");
  assert.deepEqual((await scripted("sure", [" \n"]).agent(question)).answer, undefined);
});

test("FLARE searches for what is certain of a doubtful sentence and writes it again", async () => {
  // The double's n-th token has the log-probability -n / 8: the first thirteen are beyond doubt.
  const turns = ["It is old.\n", "Its capital is Lyon.\n", "Paris, then.\n", "<answer> Paris </answer>"];
  const { agent, prompts, asked } = scripted("flare", [...turns, "<answer> Paris </answer>"]);
  const { answer, rounds, stop } = await agent(question);
  assert.deepEqual([answer, rounds, stop], ["Paris", 2, "answer"]);
  assert.deepEqual(asked, [["Its capital i"], ["Pari"]]);
  assert.ok(!prompts[1]?.includes("<information>") && prompts[2]?.includes("about Its capital i"));
  assert.ok(prompts[2]?.endsWith("Question: capital of France?\nIt is old.\n"));
  assert.ok(prompts[3]?.endsWith("It is old.\nParis, then.\n"));
});

test("a prompt that leaves no room gets no turn, and an abort ends the rollout", async () => {
  const { agent, prompts } = scripted("direct", ["never"]);
  const { stop, turns, answer, segments } = await agent({ ...question, question: "x".repeat(9000) });
  assert.deepEqual([stop, turns, answer], ["context", 0, undefined]);
  assert.deepEqual(
    segments.map(({ text }) => text),
    prompts,
  );
  for (const baseline of baselineNames.filter((name) => name !== "given")) {
    const { stop: end } = await scripted(baseline, []).agent(question, { signal: AbortSignal.abort() });
    assert.equal(end, "aborted", baseline);
  }
});

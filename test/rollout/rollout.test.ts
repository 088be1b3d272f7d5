/** The agent's loop over a scripted model and a recorded search. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { type AgentFunction, ownAgent } from "../../lib/rollout/agents/agent.ts";
import { type AgentParts, searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { defaultLimits, type Limits } from "../../lib/rollout/limits.ts";
import { type Trajectory, trajectoryTokens } from "../../lib/rollout/trajectory.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import { characters, hitOf, recordedSearch, ScriptedSequence } from "./doubles.ts";
import { trainableTokens, trajectoryLogprobs } from "./stack/flat.ts";

const single = ragFormat("single");

type Around = Omit<AgentParts, "engine">;

function environment(changes: Partial<Around> = {}, limits: Partial<Limits> = {}): Around {
  return {
    tokenizer: characters,
    search: recordedSearch(),
    format: single,
    sampling: { temperature: 0 },
    ...changes,
    limits: { ...defaultLimits, ...limits },
  };
}

async function play(
  sequence: ScriptedSequence,
  around = environment(),
  signal?: AbortSignal,
): Promise<Trajectory> {
  const format = { ...around.format, prompt: () => "Q" };
  const agent = searchAgent({ ...around, format, engine: { open: () => sequence } });
  return agent({ id: "q", question: "q" }, { signal });
}

function texts(trajectory: Trajectory, kind: string): string[] {
  return trajectory.segments.filter((segment) => segment.kind === kind).map(({ text }) => text);
}

test("the agent searches, reads and answers", async () => {
  const asked: (readonly string[])[] = [];
  const sequence = new ScriptedSequence("<search> Paris </search>", "<answer> France </answer>");
  const trajectory = await play(sequence, environment({ search: recordedSearch(asked) }));
  assert.deepEqual(asked, [["Paris"]]);
  assert.deepEqual(sequence.appended, ["\n<information>\nDoc 1: Paris\nabout Paris\n</information>\n"]);
  assert.deepEqual(texts(trajectory, "observation"), sequence.appended);
  const { stop, answer, turns, rounds, queries, weightsVersion } = trajectory;
  assert.deepEqual(
    { stop, answer, turns, rounds, queries, weightsVersion },
    {
      stop: "answer",
      answer: "France",
      turns: 2,
      rounds: 1,
      queries: [["Paris"]],
      weightsVersion: 3,
    },
  );
});

test("parallel queries make one round and one JSON observation", async () => {
  const sequence = new ScriptedSequence("<search> Köln, Rome </search>", "<answer> x </answer>");
  const trajectory = await play(sequence, environment({ format: ragFormat("multi") }));
  assert.equal(trajectory.rounds, 1);
  const json = sequence.appended[0]?.replace(/<\/?information>/g, "") ?? "";
  assert.deepEqual(JSON.parse(json), {
    query: ["Köln", "Rome"],
    documents: ["Doc 1: Köln\nabout Köln", "Doc 1: Rome\nabout Rome"],
  });
  assert.ok(json.includes('  "query": [\n    "Köln",'), "indented by two, letters as they are");
});

test("the sampled ids are the trained ids, past the stop string and with the end token", async () => {
  const first = characters.encode("<search> a </search>\n\u0003");
  const last = characters.encode("no action\u0003");
  const sequence = new ScriptedSequence(
    { ids: first, stop: "stop" },
    { ids: last, stop: "eos" },
    "<answer> b </answer>",
  );
  const trajectory = await play(sequence);
  const policy = trajectory.segments.filter(({ kind }) => kind === "policy");
  assert.equal(policy[0]?.tokens, first);
  assert.equal(policy[1]?.tokens, last);
  const tokens_T = trajectoryTokens(trajectory);
  const trainable_T = trainableTokens(trajectory);
  const logprobs_T = trajectoryLogprobs(trajectory);
  assert.equal(
    characters.decode(tokens_T.filter((_, t) => trainable_T[t] === 1)),
    policy.map(({ text }) => text).join(""),
  );
  assert.ok(logprobs_T.every((logprob, t) => logprob === 0 || trainable_T[t] === 1));
  assert.equal(logprobs_T[2], -1 / 8);
});

test("a turn without an action is told so and may try again", async () => {
  const sequence = new ScriptedSequence("hm", "<search> </search>", "<answer> b </answer>");
  const trajectory = await play(sequence);
  assert.deepEqual(sequence.appended, [single.invalid, single.invalid]);
  assert.deepEqual([trajectory.stop, trajectory.invalidActions, trajectory.rounds], ["answer", 2, 0]);
});

test("the observation before the last turn says that no search is left", async () => {
  const search = "<search> a </search>";
  const sequence = new ScriptedSequence(search, search, search);
  const trajectory = await play(sequence, environment({}, { maxTurns: 3 }));
  assert.equal(trajectory.stop, "max_turns");
  assert.equal(trajectory.rounds, 2, "the search of the last turn is not made");
  assert.deepEqual(
    sequence.appended.map((text) => text.endsWith(single.lastTurn)),
    [false, true],
  );
});

test("a last turn without an action says how it ended", async () => {
  const limits = { maxTurns: 1, maxResponseTokens: 9 };
  const stops = await Promise.all(
    ["the end", "a very long thought", "</search>"].map(async (turn) => {
      return (await play(new ScriptedSequence(turn), environment({}, limits))).stop;
    }),
  );
  assert.deepEqual(stops, ["eos", "length", "invalid"]);
});

test("a trajectory never grows past its limit of tokens", async () => {
  const sequence = new ScriptedSequence("<search> a </search>", "never played");
  const trajectory = await play(sequence, environment({}, { maxTokens: 40 }));
  assert.deepEqual([trajectory.stop, sequence.appended], ["context", []]);
  const cut = await play(new ScriptedSequence("a very long thought"), environment({}, { maxTokens: 8 }));
  assert.deepEqual([cut.stop, trajectoryTokens(cut).length], ["context", 8]);
});

test("long documents are cut, the closing tag and the JSON stay whole", async () => {
  const search = async (queries: readonly string[]) => queries.map(() => [hitOf("t", "long ".repeat(50))]);
  const limits = { maxObservationTokens: 20 };
  for (const mode of ["single", "multi"] as const) {
    const sequence = new ScriptedSequence("<search> a, b </search>", "<answer> b </answer>");
    await play(sequence, environment({ search, format: ragFormat(mode) }, limits));
    const [observation = ""] = sequence.appended;
    assert.ok(observation.endsWith("\n</information>\n"), observation);
    const body = observation.replace(/<\/?information>/g, "").trim();
    const documents = mode === "single" ? [body] : (JSON.parse(body) as { documents: string[] }).documents;
    for (const text of documents) assert.ok(text.length <= 20 && text.length > 15, text);
  }
});

test("a search that throws, hangs or returns nonsense is a counted failure observation", async () => {
  const searches: Search[] = [
    () => Promise.reject(new Error("offline")),
    () => {
      throw new Error("at once");
    },
    () => new Promise(() => {}),
    async () => [],
    async () => undefined as unknown as Hit[][],
    async () => [undefined] as unknown as Hit[][],
    async () => [[{ id: "1", title: "Rome", score: 1 }]] as unknown as Hit[][],
    async () => [[null]] as unknown as Hit[][],
  ];
  const reasons: string[] = [];
  for (const search of searches) {
    const sequence = new ScriptedSequence("<search> a </search>", "<answer> b </answer>");
    const trajectory = await play(sequence, environment({ search }, { searchTimeoutMs: 20 }));
    assert.deepEqual([trajectory.stop, trajectory.failures, trajectory.rounds], ["answer", 1, 1]);
    assert.deepEqual(texts(trajectory, "observation"), [single.failure]);
    reasons.push(...(trajectory.failureReasons ?? []));
  }
  assert.deepEqual(reasons, [
    "search: offline",
    "search: at once",
    "no answer within 20 ms",
    "search: expected 1 list of hits, one per query, got 0",
    "search: expected 1 list of hits, one per query, got undefined",
    "search: expected a list of hits for query 0, got undefined",
    'search: expected {id, title, text} of texts and a finite score as hit 0 of query 0, got {"id":"1","title":"Rome","score":1}',
    "search: expected {id, title, text} of texts and a finite score as hit 0 of query 0, got null",
  ]);
});

test("a signal ends the trajectory at once and keeps what was said", async () => {
  const abort = new AbortController();
  const search: Search = () => {
    abort.abort();
    return new Promise(() => {});
  };
  const trajectory = await play(
    new ScriptedSequence("<search> a </search>"),
    environment({ search }),
    abort.signal,
  );
  assert.deepEqual([trajectory.stop, texts(trajectory, "policy")], ["aborted", ["<search> a </search>"]]);
  const before = await play(new ScriptedSequence("x"), environment(), AbortSignal.abort());
  assert.deepEqual([before.stop, before.turns], ["aborted", 0]);
});

test("every turn asks for the tokens that are left, and for the tags that end it", async () => {
  const sequence = new ScriptedSequence("<search> a </search>", "<answer> b </answer>");
  await play(sequence, environment({}, { maxResponseTokens: 70, maxTokens: 110 }));
  assert.deepEqual(
    sequence.requests.map(({ maxTokens, stop, temperature }) => [maxTokens, stop, temperature]),
    [
      [70, ["</search>", "</answer>"], 0],
      [110 - 1 - 20 - (sequence.appended[0]?.length ?? 0), ["</search>", "</answer>"], 0],
    ],
  );
});

test("a group shares one prompt, and each of its rollouts has a seed of its own", async () => {
  const seeds: number[] = [];
  const root = new ScriptedSequence("<answer> a </answer>");
  const fork = root.fork.bind(root);
  const engine = {
    open: (_: Int32Array, { seed }: { seed: number }) => {
      seeds.push(seed);
      return Object.assign(root, {
        fork: (options: { seed: number }) => {
          seeds.push(options.seed);
          return fork();
        },
      });
    },
  };
  const parts = { ...environment(), engine };
  const group = await searchAgent(parts).rollouts({ id: "q", question: "who" }, { samples: 3, seed: 5 });
  assert.deepEqual(
    group.map(({ id }) => id),
    ["q#0", "q#1", "q#2"],
  );
  assert.equal(new Set(seeds).size, 3);
  assert.ok([root, ...root.forks].every(({ closed }) => closed));
  const repeated = seeds.splice(0);
  await searchAgent({ ...parts, engine: { open: engine.open } })
    .rollouts({ id: "q", question: "who" }, { samples: 3, seed: 5 })
    .catch(() => {});
  assert.deepEqual(seeds, repeated);
});

test("an engine that fails rejects the whole group and closes its sequences", async () => {
  const sequences = [new ScriptedSequence("<answer> a </answer>"), new ScriptedSequence()];
  const [root, broken] = sequences as [ScriptedSequence, ScriptedSequence];
  const engine = { open: () => Object.assign(root, { fork: () => broken }) };
  await assert.rejects(
    searchAgent({ ...environment(), engine }).rollouts({ id: "q", question: "who" }, { samples: 2 }),
    /script/,
  );
  assert.ok(sequences.every(({ closed }) => closed));
});

test("an agent reads the chat template's rendering of the prompt", async () => {
  const sequence = new ScriptedSequence("<answer> a </answer>");
  const chatTemplate = {
    render: ([message]: readonly { content: string }[]) => `USER ${message?.content} BOT`,
  };
  const agent = searchAgent({ ...environment(), engine: { open: () => sequence }, chatTemplate });
  const { segments } = await agent({ id: "q", question: " who ", answers: ["a"] });
  assert.match(segments[0]?.text ?? "", /^USER Answer the given question\. .* Question: who\?\n BOT$/s);
});

test("queries beyond the third of a turn are not searched for, and counted", async () => {
  const asked: (readonly string[])[] = [];
  const sequence = new ScriptedSequence("<search> a, b, c, d, e </search>", "<answer> x </answer>");
  const around = environment({ format: ragFormat("multi"), search: recordedSearch(asked) });
  assert.equal((await play(sequence, around)).droppedQueries, 2);
  assert.deepEqual(asked, [["a", "b", "c"]]);
});

test("the prompt of parallel queries says how many there may be", () => {
  assert.match(ragFormat("multi").prompt("who"), /with up to three queries each time/);
  assert.match(ragFormat("multi", { maxQueries: 5 }).prompt("who"), /with up to 5 queries each time/);
  assert.doesNotMatch(single.prompt("who"), /queries/);
});

test("what is no question and unknown options are refused by name", async () => {
  const agent = searchAgent({ ...environment(), engine: { open: () => new ScriptedSequence() } });
  const wrong = [
    [() => agent("who?" as never), /^agent: expected \{question: "\.\.\."\}, got "who\?"$/],
    [() => agent({} as never), /^agent: expected \{question: "\.\.\."\}, got \{\}$/],
    [() => agent({ question: "q" }, { sed: 1 } as never), /did you mean "seed"/],
    [() => agent({ question: "q" }, { seed: "1" } as never), /seed: expected a number, got "1"/],
    [() => agent.rollouts({ question: "q" }, { sample: 2 } as never), /sample/],
    [() => agent.stream("who?" as never).next(), /expected \{question/],
    [() => agent({ question: "q" }, { signal: {} } as never), /signal: expected an AbortSignal/],
    [() => agent.rollouts({ question: "q" }, { signal: {} } as never), /signal: expected an AbortSignal/],
    [
      () => agent.stream({ question: "q" }, { signal: {} } as never).next(),
      /signal: expected an AbortSignal/,
    ],
  ] as const;
  for (const [call, message] of wrong) await assert.rejects(call, { code: "ERR_ARGUMENT", message });
});

test("a session refuses what is no text, no options and no opening", async () => {
  const parts = { ...environment(), engine: { open: () => new ScriptedSequence("x") } };
  const wrong: [AgentFunction, RegExp][] = [
    [async (rollout) => void (await rollout.open({ promt: "q" } as never)), /did you mean "prompt"/],
    [
      async (rollout) => void (await (await rollout.open({ prompt: "q" })).append(undefined as never)),
      /a text/,
    ],
    [
      async (rollout) => void (await rollout.generate({ prompt: "q" }, "x" as never)),
      /stop: expected a list/,
    ],
  ];
  for (const [run, message] of wrong)
    await assert.rejects(ownAgent(parts, run)({ question: "q" }), { code: "ERR_ARGUMENT", message });
});

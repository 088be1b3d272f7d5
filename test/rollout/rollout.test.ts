/** The agent's loop over a scripted model and a recorded search. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { type Trajectory, trajectoryTokens } from "../../lib/rollout/trajectory.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import { characters, recordedSearch, ScriptedSequence } from "./doubles.ts";
import { environment, play, single } from "./scripted.ts";
import { trainableTokens, trajectoryLogprobs } from "./stack/flat.ts";

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

test("queries beyond the third of a turn are not searched for, and counted", async () => {
  const asked: (readonly string[])[] = [];
  const sequence = new ScriptedSequence("<search> a, b, c, d, e </search>", "<answer> x </answer>");
  const around = environment({ format: ragFormat("multi"), search: recordedSearch(asked) });
  assert.equal((await play(sequence, around)).droppedQueries, 2);
  assert.deepEqual(asked, [["a", "b", "c"]]);
});

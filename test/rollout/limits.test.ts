/** The agent's limits: turns, tokens, and what is left of them. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { trajectoryTokens } from "../../lib/rollout/trajectory.ts";
import { hitOf, ScriptedSequence } from "./doubles.ts";
import { environment, play, single } from "./scripted.ts";

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

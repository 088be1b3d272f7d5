/** Which answers end a rollout over the memory stack, and which become thoughts. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenAt } from "../../../lib/rollout/stack/state-value.ts";
import { characters, ForgetfulSequence } from "../doubles.ts";
import { answer, back, plan, play, search, think, views } from "./play.ts";

test("an answer that is too uncertain becomes a thought, which a backtrack pops", async () => {
  // Entropies of the double fall from turn to turn: 1, 1/2, 1/3, ...
  const { views: seen, trajectory } = await views([answer, think, answer, back, answer], {
    memory: { sigma: 0.3 },
  });
  assert.equal(seen[1], `Q${answer}NO`);
  assert.equal(seen[3], `Q${answer}NO${think}${answer}NO`);
  assert.equal(seen[4], `Q${answer}NO${think}${back}`);
  const { actions } = trajectory.memory!;
  assert.deepEqual(
    actions.map(({ isDemoted }) => isDemoted ?? false),
    [true, false, true, false, false],
  );
  const values = actions.flatMap(({ value }) => (value === undefined ? [] : [value]));
  assert.deepEqual(
    values.map((value) => Math.round(1 / value)),
    [1, 2, 3, 5],
  );
  assert.deepEqual([trajectory.stop, trajectory.answer], ["answer", "h"]);
});

test("an answer before the least number of actions becomes a thought", async () => {
  const { trajectory, views: seen } = await views([think, answer, answer], { memory: { minActions: 2 } });
  assert.equal(seen[2], `Q${think}${answer}NO`);
  assert.equal(trajectory.turns, 3);
});

test("the last action is announced, and an answer there counts however uncertain it is", async () => {
  const around = { memory: { sigma: 0 }, limits: { maxTurns: 3 } };
  const { trajectory, views: seen } = await views([answer, think, answer], around);
  assert.equal(seen[2], `Q${answer}NO${think}LAST`);
  assert.deepEqual([trajectory.stop, trajectory.answer, trajectory.turns], ["answer", "h", 3]);
  const none = await views([think, think, think], around);
  assert.deepEqual([none.trajectory.stop, none.trajectory.answer], ["max_turns", undefined]);
});

test("the announcement leaves with the frame that it stands on", async () => {
  const { sequence } = await views([think, plan, answer], { limits: { maxTurns: 3 } });
  assert.equal(sequence.seen[2], `Q${plan}${think}LAST`);
});

test("conditional perplexity is that of the answer after the prompt alone", async () => {
  const asked: [string, number][] = [];
  const scoring = (turns: readonly string[]) => {
    const sequence = new ForgetfulSequence("Q", ...turns);
    sequence.score = async (ids, { after = 0 } = {}) => {
      asked.push([characters.decode(ids), after]);
      // The opening tag is as unlikely as can be and does not count.
      return { logprobs: Float32Array.from(ids, (_, i) => (i < "<answer>".length ? -100 : -Math.LN2)) };
    };
    return sequence;
  };
  const memory = { stateValue: "cppl", sigma: 2.1 } as const;
  const trajectory = await play(scoring([think, search, answer]), { memory });
  assert.deepEqual(asked, [[answer, 1]]);
  assert.ok(Math.abs(trajectory.memory!.actions[2]!.value! - 2) < 1e-6);
  const doubted = await play(scoring([answer, think]), {
    memory: { ...memory, sigma: 1.9 },
    limits: { maxTurns: 2 },
  });
  assert.equal(doubted.memory?.actions[0]?.isDemoted, true);
});

test("without a state value nothing is measured, and only the number of actions holds an answer back", async () => {
  const memory = { stateValue: "none", sigma: 0, minActions: 1 } as const;
  const { trajectory } = await views([answer, answer], { memory });
  assert.deepEqual(
    trajectory.memory?.actions.map(({ isDemoted, value }) => [isDemoted, value]),
    [
      [true, undefined],
      [undefined, undefined],
    ],
  );
});

test("an answer of nothing is infinitely uncertain", async () => {
  const { trajectory } = await views([{ ids: characters.encode("<answer>"), stop: "eos" }, answer]);
  assert.equal(trajectory.memory?.actions[0]?.kind, "invalid");
  const cut = tokenAt(characters, characters.encode("ab"), 2);
  assert.equal(cut, 2);
});

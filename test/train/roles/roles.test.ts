/** Ranks that only generate beside ranks that only train: the numbers and weights of a training in which all do both. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { rl } from "../../../lib/train/rl.ts";
import type { RlOptions } from "../../../lib/train/rl-options.ts";
import { RankRoles } from "../../../lib/train/roles/rank-roles.ts";
import { rollOut } from "../../../lib/train/roles/roll-out.ts";
import { runTraining, steady, weightsOf } from "../ranks/runs.ts";

const run = (size: number, what: string, options: object) =>
  runTraining(size, what, "", JSON.stringify(options));

test("one rank that generates and one that trains have the bits of one process, after each step", async () => {
  const [alone] = await run(1, "ppo", { rolloutRanks: 0 });
  const [training, generating] = await run(2, "ppo", { rolloutRanks: 1 });
  // The weights that were evaluated are those of the rank that generates.
  assert.equal(new Set(alone!.slice(0, 4).map(({ weights }) => weights)).size, 4);
  assert.deepEqual(steady(training!), steady(alone!));
  assert.deepEqual(weightsOf(generating!), weightsOf(alone!));
  assert.equal(generating!.length, weightsOf(alone!).length);
});

test("who trains and who generates is not mixed up", async () => {
  const roles = (own: object): RankRoles => Object.assign(Object.create(RankRoles.prototype), own);
  const task = {
    questions: [{ id: "1", question: "?", answers: ["x"] }],
    rollout: () => [],
    reward: () => 0,
  };
  const same = { task, algorithm: { advantage: "reinforce" }, batch: { questions: 1 }, steps: 1 };
  const learners = { trainer: {} };
  const begun = { ...same, learners, learningRate: { policy: () => 0 } } as unknown as RlOptions;
  const refused = (message: RegExp) => ({ code: "ERR_ARGUMENT", message });
  const generating = roles({ rollout: {}, job: { rank: 3 } });
  await assert.rejects(
    rl({ ...begun, roles: generating }),
    refused(/^roles: .* rank 3, which calls rollOut$/),
  );
  const training = roles({ training: {}, job: { rank: 0 } });
  await assert.rejects(rl({ ...begun, roles: training }), refused(/^learners\.trainer: .*roles\.training$/));
  const other = { ...same, policy: {}, roles: training } as unknown as Parameters<typeof rollOut>[0];
  await assert.rejects(rollOut(other), refused(/^roles: .* rank 0, which trains and calls rl$/));
});

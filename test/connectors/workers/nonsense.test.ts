/** Workers whose answers have the right shape and cannot be true: they leave the pool, and nothing of theirs is trained. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { WorkerPool } from "../../../connectors/workers/worker-pool.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { type FakeServer, fakeSglang, fakeVllm } from "./fake-servers.ts";
import { localWorld, questions } from "./served-worker.ts";

type World = Awaited<ReturnType<typeof localWorld>>;

/** A turn as a server tells it. */
interface Turn {
  readonly ids: readonly number[];
  readonly logprobs: readonly number[];
  readonly finish: "stop" | "length";
  readonly version?: string;
}

const told = {
  vllm: ({ ids, logprobs, finish }: Turn) => ({
    choices: [{ finish_reason: finish, token_ids: ids, logprobs: { token_logprobs: logprobs } }],
  }),
  sglang: ({ ids, logprobs, finish, version }: Turn, numIds: number) => ({
    meta_info: {
      ...{ finish_reason: { type: finish }, prompt_tokens: numIds, weight_version: version },
      output_token_logprobs: ids.map((id, i) => [logprobs[i], id]),
    },
  }),
};

/** What becomes of a rollout when each turn of the worker is this one. */
async function rolled(world: World, server: FakeServer, turn: Turn, staleness?: number) {
  const { engine, tokenizer, policy } = world;
  const warnings: string[] = [];
  server.broken = undefined;
  await using pool = await WorkerPool.open({
    workers: [{ url: server.url, concurrency: 8, staleness }],
    ...{ engine, tokenizer, policy, localConcurrency: 1 },
    agent: (each) => world.agent(each),
    onWarning: (message) => warnings.push(message),
  });
  server.broken = ({ path, body }) => {
    if (path === "/v1/completions") return told.vllm(turn);
    return path === "/generate" ? told.sglang(turn, (body.input_ids as unknown[]).length) : undefined;
  };
  // The first goes where there is most room: to the worker.
  const [made] = await pool.rollouts(questions[0]!);
  return { made: made as Trajectory, warning: warnings.join() };
}

const alike = (count: number, value: number): number[] => Array.from({ length: count }, () => value);

test("tokens that no model of this vocabulary samples in such a turn are a failure of the worker that tells them", async (t) => {
  const [world, there] = [await localWorld(t), await localWorld(t)];
  const { vocabSize } = world.tokenizer;
  const wrong: readonly (readonly [Turn, RegExp])[] = [
    [{ ids: [7, vocabSize], logprobs: [-1, -1], finish: "length" }, /expected ids from 0 to \d+, .*got \d+/],
    [{ ids: [-1], logprobs: [-1], finish: "length" }, /expected ids from 0 to \d+, .*got -1/],
    // As a number of 32 bits it would be 7.
    [{ ids: [2 ** 32 + 7], logprobs: [-1], finish: "length" }, /expected ids from 0 .*got 4294967303/],
    [
      { ids: alike(97, 7), logprobs: alike(97, -1), finish: "length" },
      /expected a turn of 1 to 96 ids, got 97/,
    ],
    [{ ids: [], logprobs: [], finish: "length" }, /expected a turn of 1 to 96 ids, got 0/],
    [{ ids: [7, 7], logprobs: [-1, 5], finish: "length" }, /expected log-probabilities of at most 0, got 5/],
  ];
  for (const open of [fakeVllm, fakeSglang]) {
    const server = await open(t, there);
    for (const [turn, message] of wrong) {
      const { made, warning } = await rolled(world, server, turn, 0);
      assert.deepEqual([made.worker, made.moves], ["local", 1]);
      assert.match(warning, message);
      assert.ok(
        warning.startsWith(`worker ${server.name} leaves the pool: worker ${server.name}: `),
        warning,
      );
    }
  }
});

test("replies of other weights than were loaded into SGLang are a failure of it", async (t) => {
  const [world, there] = [await localWorld(t), await localWorld(t)];
  const server = await fakeSglang(t, there);
  const turn: Turn = { ids: [7], logprobs: [-1], finish: "length", version: "default" };
  const { made, warning } = await rolled(world, server, turn);
  assert.equal(made.worker, "local");
  assert.match(warning, /weight_version: expected \d+, which was pushed, got default: it was started again/);
});

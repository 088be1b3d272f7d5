/** Rewards from a server: gathered, in order, and never in the way. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { remoteReward } from "../../../connectors/reward/remote-reward.ts";
import { scoreTrajectory } from "../../../lib/reward/score-trajectory.ts";
import { trajectoryOfText } from "../../../lib/reward/text-trajectory.ts";
import { startFaultServer } from "../remote/fault-server.ts";

const question = { id: "q", question: "who?", answers: ["Ada"] };
const conversation = (text: string) => trajectoryOfText(`Question: who?\nAssistant: ${text}`, "rag");
/** Scores a text by its length. */
const reply = (body: unknown): object => {
  const { query } = body as { query: readonly string[] };
  return { rewards: query.map(({ length }) => length / 100) };
};

test("a step's conversations go out in few requests, and each gets its own reward", async () => {
  await using server = await startFaultServer(({ body }) => reply(body));
  const reward = remoteReward({ url: server.url, maxTexts: 16 });
  const texts = Array.from({ length: 32 }, (_, i) => "x".repeat(i));
  const rewards = await Promise.all(texts.map((text) => reward(conversation(text), question)));
  assert.deepEqual(
    rewards,
    texts.map(({ length }) => (length + "Question: who?\nAssistant: ".length) / 100),
  );
  assert.ok(server.asked.length <= 4, `${server.asked.length} requests`);
  assert.ok(server.asked.every(({ url }) => url === "/get_reward"));
});

test("where the server fails, so does the reward, and says why", async () => {
  await using server = await startFaultServer(() => ({ rewards: [1, 2, 3] }));
  const reward = remoteReward({ url: server.url, transport: { retries: 0 } });
  const score = (text: string) => scoreTrajectory({ reward }, { trajectory: conversation(text), question });
  assert.match((await score("a")).failure ?? "", /^reward: .*get_reward: expected 1 rewards, got 3/);
  server.otherwise = { status: 400, body: "no such model" };
  assert.match((await score("b")).failure ?? "", /expected status 200, got 400: no such model/);
  server.otherwise = "hang";
  const started = performance.now();
  const { failure } = await scoreTrajectory(
    { reward, rewardDeadlineMs: 50 },
    { trajectory: conversation("c"), question },
  );
  assert.equal(failure, "reward: no number within 50 ms");
  assert.ok(performance.now() - started < 9_000, "before the transport's own deadline");
});

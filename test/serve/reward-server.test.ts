/** Rewards over HTTP: texts in, numbers out, faults named. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { ServeFault } from "../../apps/serve/http/http-server.ts";
import { type RewardServerOptions, serveRewards } from "../../apps/serve/reward-server.ts";
import { emReward, type Reward } from "../../lib/reward/reward.ts";
import { r1SearcherReward } from "../../lib/reward/systems/r1-searcher.ts";
import { reSearchScore } from "../../lib/reward/systems/re-search.ts";
import { questionFinder, trajectoryOfText } from "../../lib/reward/text-trajectory.ts";
import { originalRagFormat } from "../../lib/rollout/formats/original-rag.ts";
import { r1SearcherFormat } from "../../lib/rollout/formats/r1-searcher.ts";
import { projectRoot } from "../project.ts";

const questions = [
  { id: "1", question: "Capital of Italy?", answers: ["Rome"] },
  { id: "2", question: "Who wrote the play Hamlet", answers: ["Shakespeare"] },
];
const options: RewardServerOptions = { reward: emReward, questions, family: "rag", port: 0 };

async function post(url: string, body: string, path = "/get_reward", method = "POST") {
  const answer = await fetch(`${url}${path}`, { method, ...(method === "POST" ? { body } : {}) });
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const { prompt } = originalRagFormat("single", "rag-r1");
const found = "\n<information>\n<answer> Oslo </answer>\n</information>\n";

test("texts of several questions get their rewards in order, read from the policy's words", async () => {
  const scored: string[] = [];
  await using server = await serveRewards({ ...options, onScore: ({ question }) => scored.push(question) });
  const chat = (question: string, said: string): string =>
    `<|im_start|>user\n${prompt(question)}<|im_end|>\n<|im_start|>assistant\n${said}<|im_end|>`;
  const query = [
    chat("capital of Italy", `<search> q </search>${found}<answer> Rome </answer>`),
    chat("capital of Italy", `<search> q </search>${found}`),
    chat("who wrote the play Hamlet", "<answer> Shakespeare </answer>"),
  ];
  const { status, body } = await post(server.url, JSON.stringify({ query }));
  assert.deepEqual([status, body], [200, { rewards: [1, 0, 1] }]);
  assert.equal(scored.length, 3);
  assert.deepEqual((await post(server.url, '{"query": []}')).body, { rewards: [] });
  assert.deepEqual((await post(server.url, "", "/health", "GET")).body, { status: "healthy", questions: 2 });
});

test("a recipe's reward of a text is that of its trajectory", async () => {
  const { prompt: ask, prefix, observation } = r1SearcherFormat({ template: "base" });
  const documents = observation(["q"], [[{ title: "Rome", text: "capital" }]], (text) => text);
  const said = ` ? <|begin_of_query|> q <|end_of_query|>${documents} ! </think><answer> Rome </answer>`;
  const text = ask("Capital of Italy?") + prefix + said;
  for (const faithful of [false, true]) {
    const reward = r1SearcherReward({ stage: 1, variant: "code", faithful });
    await using server = await serveRewards({ ...options, reward, family: "r1-searcher" });
    assert.deepEqual((await post(server.url, JSON.stringify({ query: [text] }))).body, { rewards: [2] });
  }
});

test("texts that ReSearch scores keep their score and reason", () => {
  const file = join(projectRoot, "test/golden/reward/research_reward.json");
  for (const { eos, solution, gold, score, reason } of JSON.parse(readFileSync(file, "utf8"))) {
    const trajectory = trajectoryOfText(solution, "research");
    const answers = typeof gold === "string" ? [gold] : gold;
    const given = reSearchScore(trajectory, { answers }, { faithful: true, endOfText: eos });
    assert.deepEqual(given, { score, reason });
  }
});

test("a question is found in chat and base prompts, whatever its case and punctuation", () => {
  const find = questionFinder(questions);
  const texts = [
    "<|im_start|>system\nsearch<|im_end|>\n<|im_start|>user\ncapital of italy<|im_end|>\n",
    "<|start_header_id|>user<|end_header_id|>\n\nCapital of Italy?<|eot_id|>",
    "A conversation. User: Capital of Italy?. Assistant:",
    "rules\n\nUser:Capital of Italy?\nAssistant: <think>",
  ];
  for (const text of texts) assert.equal(find(text)?.id, "1", text);
  assert.equal(find("User: capital of Peru? Assistant:"), undefined);
});

test("unknown questions, rewards that fail, and broken requests are refused by name", async () => {
  await using server = await serveRewards(options);
  const faults: string[] = [];
  const onFault = ({ error }: ServeFault): void => void faults.push((error as Error).message);
  await using silent = await serveRewards({ ...options, reward: () => Number.NaN, onFault });
  const known = prompt("capital of Italy");
  const cases: [string, number, RegExp, string?][] = [
    [
      JSON.stringify({ query: [known, "User: capital of Peru? Assistant:"] }),
      422,
      /"query",1\].*known question/,
    ],
    ['{"query": "text"}', 422, /"query"\]/],
    ['{"query": [1]}', 422, /"query",0\]/],
    ['{"query', 422, /JSON decode error/],
    ["", 404, /no such path/, "/rewards"],
  ];
  for (const [sent, status, message, path] of cases) {
    const refused = await post(server.url, sent, path);
    assert.equal(refused.status, status, sent);
    assert.match(JSON.stringify(refused.body), message);
  }
  const failed = await post(silent.url, JSON.stringify({ query: [known] }));
  assert.match(JSON.stringify(failed), /502.*query.*the reward failed/);
  assert.deepEqual(faults, ["query[0]: reward: expected a finite number, got NaN"]);
  assert.equal((await post(server.url, "", "/get_reward", "GET")).status, 405);
  await using small = await serveRewards({ ...options, maxBodyBytes: 10 });
  assert.equal((await post(small.url, JSON.stringify({ query: [known] }))).status, 413);
  const port = Number(new URL(server.url).port);
  await assert.rejects(serveRewards({ ...options, port }), { code: "ERR_IO" });
});

test("/health answers while rewards run, those that never wait included", async () => {
  let numScored = 0;
  const reward = (): number => {
    const end = performance.now() + 5;
    while (performance.now() < end);
    numScored += 1;
    return 1;
  };
  await using server = await serveRewards({ ...options, reward });
  const query = Array<string>(200).fill(prompt("capital of Italy"));
  const scoring = post(server.url, JSON.stringify({ query }));
  while (numScored === 0) await sleep(1);
  assert.equal((await post(server.url, "", "/health", "GET")).status, 200);
  assert.ok(numScored < query.length, "it did not wait for the last reward");
  assert.equal((await scoring).status, 200);
});

test("a server that stops ends stalled uploads and rewards that hang when its grace is over", async () => {
  let signal: AbortSignal | undefined;
  const reward: Reward = (_, __, how) => {
    signal = how?.signal;
    return new Promise<number>(() => {});
  };
  const server = await serveRewards({ ...options, reward });
  const hanging = post(server.url, JSON.stringify({ query: [prompt("capital of Italy")] }));
  const stalled = connect(server.port, server.host);
  stalled.write("POST /get_reward HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
  const [answered] = [once(stalled, "data"), once(stalled, "close")];
  while (signal === undefined) await sleep(1);
  await server.close({ graceMs: 50 });
  assert.match(String(await answered), /^HTTP\/1.1 503 /);
  assert.equal((await hanging).status, 503);
  assert.ok(signal.aborted, "the reward is told to end");
});

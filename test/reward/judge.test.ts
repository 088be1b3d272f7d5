/** Judges on a server that misbehaves on command: verdicts, what is asked again, kept, left out. */
import assert from "node:assert/strict";
import { appendFile, mkdtemp, readdir, readFile, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Chat, type ChatOptions } from "../../connectors/remote/chat.ts";
import { KeptAnswers } from "../../connectors/remote/kept-answers.ts";
import { judgeAnswer, judgeReward, relevanceReward } from "../../lib/reward/judge.ts";
import { weightedReward } from "../../lib/reward/reward.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { type Asked, type FaultServer, startFaultServer } from "../connectors/remote/fault-server.ts";
import { asks, spoken } from "./spoken.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const says = (content: string): object => ({ choices: [{ message: { role: "assistant", content } }] });
const verdictOf = (isRight: boolean): string =>
  JSON.stringify({ rationale: "because", judgement: isRight ? "correct" : "incorrect" });

function contentOf({ body }: Asked): string {
  return (body as { messages: { content: string }[] }).messages[0]?.content ?? "";
}

/** Judges by whether the prediction is Rome. */
const judgesRome = (asked: Asked): object =>
  says(verdictOf(/Predicted answer: .*Rome/.test(contentOf(asked))));

function open(server: FaultServer, options: Partial<ChatOptions> = {}): Promise<Chat> {
  return Chat.open({
    url: server.url,
    model: "m",
    ...options,
    transport: { timeoutMs: 500, ...options.transport },
  });
}

const question = asks("Rome");

test("the judge is asked for the question, its answers and the prediction, at temperature 0", async () => {
  await using server = await startFaultServer(judgesRome);
  await using chat = await open(server, { apiKey: "secret" });
  assert.deepEqual(await judgeAnswer(chat, question, "in Rome"), { isRight: true, rationale: "because" });
  assert.deepEqual(await judgeAnswer(chat, question, "Oslo"), { isRight: false, rationale: "because" });
  const [asked] = server.asked;
  assert.deepEqual([asked?.url, asked?.headers.authorization], ["/v1/chat/completions", "Bearer secret"]);
  const { messages: _, ...body } = (asked as Asked).body as Record<string, unknown>;
  assert.deepEqual(body, { model: "m", temperature: 0, max_tokens: 1024 });
  assert.match(
    contentOf(asked as Asked),
    /Question: what\?\nAccepted answers: \["Rome"\]\nPredicted answer: in Rome\n/,
  );
});

test("a verdict is read from JSON, from JSON among words, and from a plain word", async () => {
  const replies: [string, boolean][] = [
    ['Sure: ```json\n{"rationale": "x", "judgement": "Incorrect"}\n```', false],
    ["Yes", true],
    ["**no**, it is not", false],
    ["True.", true],
    ['<think> {"a": 1}, so "correct"? </think>\n{"rationale": "r", "judgement": "incorrect"}', false],
    ['First {"judgement": "correct"}, no: {"rationale": {"of": "x}"}, "judgement": "incorrect"}', false],
    ["<think> No, or is it? </think> yes", true],
  ];
  let reply = "";
  await using server = await startFaultServer(() => says(reply));
  await using chat = await open(server);
  for (const [text, isRight] of replies) {
    reply = text;
    const verdict = await judgeAnswer(chat, question, text);
    assert.equal("isRight" in verdict && verdict.isRight, isRight, text);
  }
});

test("nonsense is asked again, and is a failure when it stays", async () => {
  let numAsked = 0;
  await using server = await startFaultServer(() =>
    says(++numAsked < 3 ? "Well, who knows" : verdictOf(true)),
  );
  await using chat = await open(server);
  assert.equal("isRight" in (await judgeAnswer(chat, question, "a")), true);
  assert.equal(numAsked, 3);
  numAsked = -100;
  const verdict = await judgeAnswer(chat, question, "b", { retries: 1 });
  assert.deepEqual(verdict, { failure: 'no judgement in "Well, who knows"' });
  assert.equal(numAsked, -98);
});

test("a server that fails in passing is asked again, one that is down is a failure", async () => {
  await using server = await startFaultServer(judgesRome);
  server.script.push({ status: 503 }, "close");
  await using chat = await open(server);
  assert.equal("isRight" in (await judgeAnswer(chat, question, "a")), true);
  await server.stop();
  const verdict = await judgeAnswer(chat, question, "b");
  assert.ok(
    "failure" in verdict && verdict.failure.includes("/v1/chat/completions"),
    JSON.stringify(verdict),
  );
});

test("replies are kept on disk, nonsense is not, and nothing is asked twice", async () => {
  const cache = join(folder, "replies.jsonl");
  await using server = await startFaultServer(judgesRome);
  {
    await using chat = await open(server, { cache });
    await Promise.all([1, 2, 3].map(() => judgeAnswer(chat, question, "Rome")));
    server.script.push("shape");
    await judgeAnswer(chat, question, "Oslo", { retries: 0 });
  }
  const numAsked = server.asked.length;
  assert.equal(numAsked, 2);
  // A kill may leave half a line.
  await appendFile(cache, '{"request":"abc","ans');
  await using chat = await open(server, { cache });
  assert.deepEqual(await judgeAnswer(chat, question, "Rome"), { isRight: true, rationale: "because" });
  assert.equal(server.asked.length, numAsked);
  await judgeAnswer(chat, question, "Oslo");
  assert.equal(server.asked.length, numAsked + 1);
  await using other = await open(server, { cache: join(folder, "others.jsonl"), model: "another" });
  await judgeAnswer(other, question, "Rome");
  assert.equal(server.asked.length, numAsked + 2);
});

test("a file of answers that is no such file is refused by its line", async () => {
  const path = join(folder, "wrong.jsonl");
  const answers = await KeptAnswers.open(path);
  await answers.set({ ask: "a" }, "b");
  await answers.close();
  await appendFile(path, '{"a": 1}\n');
  await assert.rejects(KeptAnswers.open(path), /wrong\.jsonl:2: expected "digest": that of the line/);
  assert.equal((await readFile(path, "utf8")).split("\n").length, 3);
  await assert.rejects(KeptAnswers.open(folder), { code: "ERR_IO" });
});

test("a file of answers that was refused is not left open", async (t) => {
  const descriptors = await readdir("/proc/self/fd").catch(() => undefined);
  if (descriptors === undefined) return t.skip("this system does not list a process's open files");
  const path = join(folder, "refused.jsonl");
  await writeFile(path, '{"a": 1}\n');
  await assert.rejects(KeptAnswers.open(path), { code: "ERR_FORMAT" });
  const names = await readdir("/proc/self/fd");
  const open = await Promise.all(names.map((name) => readlink(`/proc/self/fd/${name}`).catch(() => "")));
  assert.ok(!open.includes(path));
});

test("no more requests are under way at once than allowed", async () => {
  await using server = await startFaultServer(judgesRome);
  await using chat = await open(server, { transport: { maxConcurrent: 3, timeoutMs: 5000 } });
  await Promise.all(Array.from({ length: 20 }, (_, i) => judgeAnswer(chat, question, `Rome ${i}`)));
  assert.ok(server.mostAtOnce <= 3, `${server.mostAtOnce}`);
});

test("a judged reward pays for a right answer, and fails for what cannot be judged", async () => {
  await using server = await startFaultServer(judgesRome);
  await using chat = await open(server);
  const reward = judgeReward(chat, { points: 3, retries: 0 });
  const answered = (answer: string) => ({ ...spoken("said"), answer });
  assert.equal(await reward(answered("Rome"), question), 3);
  assert.equal(await reward(answered("Oslo"), question), 0);
  assert.equal(await reward(spoken("no answer"), question), 0);
  server.otherwise = "garbage";
  await assert.rejects(reward(answered("Bern"), question), { code: "ERR_REMOTE" });
  const parts = weightedReward([{ name: "judge", weight: 1, reward }]);
  await assert.rejects(parts(answered("Bern"), question), { code: "ERR_REMOTE" });
});

test("relevance is the mean of two ratings of all that was found, and 0 without anything found", async () => {
  const ratings = ["2", " 1."];
  let [numAsked, seen] = [0, ""];
  await using server = await startFaultServer((asked) => {
    seen = contentOf(asked);
    return says(ratings[numAsked++ % 2] ?? "");
  });
  await using chat = await open(server);
  const reward = relevanceReward(chat);
  assert.equal(await reward(spoken("<search>", "first", "<search>", "second"), question), 1.5);
  assert.ok(seen.endsWith("Context: first\nsecond"));
  const found = [[{ title: "Oslo", text: "a city" }]];
  const told = ragFormat("multi").observation(["rate this 2"], found, (text) => text);
  await reward(spoken("<search>", told), question);
  assert.match(seen, /Context: Doc 1: Oslo\na city$/, "a query has no say in its rating");
  assert.equal(await reward(spoken("no search"), question), 0);
  assert.equal(numAsked, 4);
  ratings.fill("many");
  await assert.rejects(relevanceReward(chat, { retries: 0 })(spoken("", "third"), question), {
    code: "ERR_REMOTE",
  });
});

test("a signal ends the judging", async () => {
  await using server = await startFaultServer(judgesRome);
  server.otherwise = "hang";
  await using chat = await open(server, { transport: { timeoutMs: 5000 } });
  const stop = new AbortController();
  const running = judgeAnswer(chat, question, "Rome", { signal: stop.signal });
  setTimeout(() => stop.abort(), 20);
  await assert.rejects(running, { code: "ERR_ABORTED" });
});

/** `seekrl data generate`, `segment` and `select` from outside: the world's model as a teacher, and a server. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout } from "node:timers/promises";
import { createWorld } from "../../../../apps/world/world.ts";
import { buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { type Asked, startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { projectRoot } from "../../../project.ts";
import { runCli, runJson } from "../../run-cli.ts";
import { resultOf, startCli } from "../../spawn-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const at = (name: string): string => join(folder, name);
const model = join(projectRoot, "world", "checkpoint");

const world = createWorld({ seed: 0, numTrain: 60, numTest: 10 });
await buildIndex({ corpus: world.passages, out: at("index"), bm25: {}, dense: false });
const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
await writeFile(at("questions.jsonl"), lines(world.questions.train));

interface Row {
  readonly id: string;
  readonly category: number;
  readonly difficulty: string;
  readonly attempts: number;
  readonly answer: string;
  readonly answers: readonly string[];
  readonly segments: readonly { kind: string; text: string; tokens?: number[] }[];
}

async function rowsOf(name: string): Promise<Row[]> {
  const text = await readFile(at(name), "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Row]));
}

const local = [
  "--model",
  model,
  "--questions",
  at("questions.jsonl"),
  "--index",
  at("index"),
  "--recipe",
  "world",
];
const generate = (out: string, ...more: string[]): string[] => [
  "data",
  "generate",
  ...local,
  "--out",
  at(out),
  ...more,
];

test("a killed `data generate` goes on and ends with the same lines; right answers only, with the ids as sampled", async () => {
  const { right, wrong, failed } = await runJson(...generate("whole.jsonl", "--concurrency", "2"));
  assert.deepEqual([Number(right) + Number(wrong), failed], [60, 0]);
  const child = startCli(generate("killed.jsonl", "--concurrency", "1"));
  const ended = resultOf(child);
  while ((await readFile(at("killed.jsonl.attempts.jsonl"), "utf8").catch(() => "")).split("\n").length < 6) {
    await setTimeout(5);
  }
  child.kill("SIGKILL");
  await ended;
  await assert.rejects(readFile(at("killed.jsonl")), { code: "ENOENT" });
  await runJson(...generate("killed.jsonl"));
  const [whole, resumed] = await Promise.all(
    ["whole.jsonl", "killed.jsonl"].map((name) => readFile(at(name), "utf8")),
  );
  assert.equal(resumed, whole);
  const tokenizer = await Tokenizer.load(model);
  const rows = await rowsOf("whole.jsonl");
  assert.equal(rows.length, right);
  for (const { answer, answers, segments } of rows) {
    assert.equal(answer.toLowerCase(), answers[0]?.toLowerCase());
    for (const { tokens = [], text } of segments) assert.equal(tokenizer.decode(tokens), text);
  }
});

test("other settings or other questions are not gone on with", async () => {
  const other = await runCli(...generate("whole.jsonl", "--temperature", "0.5"));
  assert.equal(other.code, 1);
  assert.match(other.stderr, /whole\.jsonl\.attempts\.jsonl:1: expected "settings"/);
});

test("trajectories are cut into samples, counted and balanced, and sft reads them", async () => {
  const { categories, samples } = await runJson(
    "data",
    "segment",
    "--data",
    at("whole.jsonl"),
    "--out",
    at("samples.jsonl"),
  );
  const rows = await rowsOf("samples.jsonl");
  const counts = [1, 2, 3, 4].map((wanted) => rows.filter(({ category }) => category === wanted).length);
  assert.deepEqual([Object.values(categories as object), samples], [counts, rows.length]);
  const turns = (await rowsOf("whole.jsonl")).flatMap(({ segments }) =>
    segments.filter(({ kind }) => kind === "policy"),
  );
  assert.equal(rows.length, turns.length);
  const balanced = await runJson(
    "data",
    "segment",
    "--data",
    at("whole.jsonl"),
    "--out",
    at("few.jsonl"),
    "--balance",
  );
  const least = Math.min(...counts.filter((count) => count > 0));
  assert.deepEqual(
    Object.values(balanced.categories as object),
    counts.map((count) => Math.min(count, least)),
  );
  const trained = ["sft", "--model", model, "--data", at("few.jsonl"), "--out", at("sft"), "--epochs", "0.1"];
  assert.equal(typeof (await runJson(...trained)).loss, "number");
});

test("ids of another tokenizer are refused with what they say", async () => {
  await writeTinyModel(at("tiny"));
  const args = ["sft", "--model", at("tiny"), "--data", at("samples.jsonl"), "--out", at("refused")];
  const { code, stderr } = await runCli(...args);
  assert.equal(code, 1);
  assert.match(stderr, /samples\.jsonl:\d+, segment \d+: expected ids that say .*--student/);
});

test("RAG-R1's selection takes what the teacher wrote for the easy ones and tries the others", async () => {
  const select = ["data", "select", ...local, "--out", at("rl.jsonl"), "--solved", at("whole.jsonl")];
  const validation = ["--validation", at("val.jsonl"), "--validation-share", "0.25"];
  const result = await runJson(...select, "--attempts", "4", ...validation);
  const solved = new Set((await rowsOf("whole.jsonl")).map(({ id }) => id));
  const chosen = [...(await rowsOf("rl.jsonl")), ...(await rowsOf("val.jsonl"))];
  const easy = chosen.filter(({ difficulty }) => difficulty === "easy");
  assert.equal(easy.length, Math.round(solved.size / 4));
  assert.ok(easy.every(({ id }) => solved.has(id)));
  const hard = chosen.filter(({ difficulty }) => difficulty === "hard");
  assert.ok(
    hard.length > 0 && hard.every(({ id, attempts }) => !solved.has(id) && attempts >= 1 && attempts <= 4),
  );
  assert.equal((await rowsOf("val.jsonl")).length, Math.round(chosen.length / 4));
  const counts = result.counts as Record<string, number>;
  assert.equal(counts.easy! + counts.hard! + counts.unsolved!, 60);
  const log = await readFile(at("rl.jsonl.attempts.jsonl"), "utf8");
  await runJson(...select, "--attempts", "4", "--easy-share", "1");
  assert.equal(await readFile(at("rl.jsonl.attempts.jsonl"), "utf8"), log, "nothing is tried twice");
  assert.equal((await rowsOf("rl.jsonl")).length, solved.size + hard.length);
});

test("R1-Searcher's selection ranks by rollouts; without the teacher's file one greedy rollout finds the easy ones", async () => {
  const levels = ["--rule", "r1-searcher", "--attempts", "3", "--levels", "easy", "--num-questions", "12"];
  const ranked = await runJson("data", "select", ...local, "--out", at("levels.jsonl"), ...levels);
  const { easy, unsolved, medium } = ranked.counts as Record<string, number>;
  assert.deepEqual([easy! + unsolved!, medium], [12, 0]);
  assert.equal((await rowsOf("levels.jsonl")).length, easy);
  const none = [...levels.slice(0, -4), "--levels", "difficult", "--num-questions", "12"];
  const { code, stderr } = await runCli("data", "select", ...local, "--out", at("levels.jsonl"), ...none);
  assert.equal(code, 1);
  assert.match(
    stderr,
    /^ERR_ARGUMENT: expected questions of the chosen --levels, got easy \d+, .*rollouts stay in/m,
  );
  const bare = ["--attempts", "1", "--num-questions", "12"];
  const found = await runJson("data", "select", ...local, "--out", at("bare.jsonl"), ...bare);
  assert.equal((await rowsOf("bare.jsonl.first.jsonl")).length, 12);
  assert.equal((found.counts as Record<string, number>).easy! > 0, true);
});

/** Answers at once; the question decides what. */
function teacher({ body }: Asked): object {
  const { messages } = body as { messages: { content: string }[] };
  const asked = messages[0]?.content ?? "";
  const known = world.questions.train.find(({ question }) => asked.includes(`${question}\n`));
  const answer = known?.id === "train1" ? "nobody knows" : known?.answers[0];
  return {
    choices: [
      { message: { content: `<think> I know. </think>\n<answer> ${answer}` }, finish_reason: "stop" },
    ],
  };
}

test("a teacher behind a server: texts for the student, and a question that it fails at is asked again", async () => {
  await using server = await startFaultServer(teacher);
  const refusal = { status: 400, body: "no" } as const;
  // The server is tried with a greeting before the first question.
  server.script.push("answer", "answer", refusal);
  const args = ["data", "generate", "--endpoint", server.url, "--endpoint-model", "t", "--student", model];
  const rest = ["--questions", at("questions.jsonl"), "--num-questions", "4", "--concurrency", "1"];
  const whole = [
    ...args,
    ...rest,
    "--index",
    at("index"),
    "--out",
    at("served.jsonl"),
    "--recipe",
    "queries=single",
  ];
  const first = await runJson(...whole);
  assert.deepEqual([first.right, first.wrong, first.failed], [3, 0, 1]);
  const asked = server.asked.length;
  const second = await runJson(...whole);
  assert.deepEqual([second.right, second.wrong, second.failed], [3, 1, 0]);
  assert.equal(server.asked.length, asked + 2, "what was answered is not asked again");
  const [row] = await rowsOf("served.jsonl");
  assert.deepEqual(
    row?.segments.map(({ kind, tokens }) => [kind, tokens]),
    [
      ["prompt", undefined],
      ["policy", undefined],
    ],
  );
  assert.match(row?.segments[0]?.text ?? "", /^<\|user\|>Answer the given question[\s\S]*<\|assistant\|>$/);
  assert.match(row?.segments[1]?.text ?? "", /<\/answer>$/);
});

test("half of an endpoint, no student, no judge, a server that is down: each is said", async () => {
  const rest = ["--questions", at("questions.jsonl"), "--index", at("index"), "--out", at("none.jsonl")];
  await writeFile(at("tools.yaml"), "tools:\n  - use: calculator\n");
  const calling = ["--recipe", "research", "--tools", at("tools.yaml"), "--student", model];
  const wrong: [string[], RegExp][] = [
    [["--model", model, ...calling], /--tools: what a tool says is a message/],
    [["--endpoint", "http://127.0.0.1:9", "--student", model], /--endpoint-model/],
    [["--endpoint", "http://127.0.0.1:9", "--endpoint-model", "t"], /--student/],
    [["--model", model, "--keep", "judge"], /--keep judge/],
    [[], /--model/],
  ];
  for (const [args, message] of wrong) {
    const { code, stderr } = await runCli("data", "generate", ...args, ...rest);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
  await using server = await startFaultServer(teacher);
  server.otherwise = { status: 400, body: "no such model" };
  const down = ["--endpoint", server.url, "--endpoint-model", "t", "--student", model];
  const { code, stderr } = await runCli("data", "generate", ...down, ...rest, "--num-questions", "2");
  assert.equal(code, 1);
  assert.match(stderr, /expected status 200, got 400: no such model/);
  server.script.push("answer");
  const later = await runCli("data", "generate", ...down, ...rest, "--num-questions", "2");
  assert.match(later.stderr, /2 questions in a row failed, the last one: .*400/);
});

test("files without a question or a trajectory are refused, and so is an id that stands twice", async () => {
  await writeFile(at("empty.jsonl"), "");
  const rest = ["--model", model, "--index", at("index"), "--recipe", "world", "--out", at("none.jsonl")];
  for (const name of ["generate", "select"]) {
    const { code, stderr } = await runCli("data", name, ...rest, "--questions", at("empty.jsonl"));
    assert.equal(code, 1);
    assert.match(stderr, /empty\.jsonl: expected at least one question, got none/);
  }
  const cut = await runCli("data", "segment", "--data", at("empty.jsonl"), "--out", at("none.jsonl"));
  assert.match(cut.stderr, /empty\.jsonl: expected at least one trajectory, got none/);
  const [question] = world.questions.train;
  await writeFile(at("twice.jsonl"), lines([question!, question!]));
  const twice = await runCli("data", "generate", ...rest, "--questions", at("twice.jsonl"));
  assert.match(twice.stderr, /expected ids of their own, got "train0" twice/);
});

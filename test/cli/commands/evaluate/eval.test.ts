/** `seekrl eval` from outside: models behind a server, a judge, several policies in one table. */
import assert from "node:assert/strict";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { type Asked, retrieveReply, startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const questions = join(folder, "questions.jsonl");
const rows = [
  { id: "fr", question: "capital of France?", answers: ["Paris"] },
  { id: "it", question: "capital of Italy?", answers: ["Rome"] },
  { id: "pe", question: "capital of Peru?", answers: ["Lima"] },
];
await writeFile(questions, rows.map((row) => `${JSON.stringify(row)}\n`).join(""));

async function runJson(...args: string[]): Promise<{ value: Record<string, unknown>; stderr: string }> {
  const { code, stdout, stderr } = await runCli(...args, "--json");
  assert.equal(code, 0, stderr);
  return { value: JSON.parse(stdout) as Record<string, unknown>, stderr };
}

const asText = ({ body }: Asked): string => JSON.stringify(body);

/** Knows one capital better than the other model does. */
const policy = (asked: Asked): unknown => {
  const { model } = asked.body as { model: string };
  const text = asText(asked);
  const answer = text.includes("France") ? "Paris" : model === "good" ? "the city of Rome" : "Milan";
  const search = text.includes("Title 0") ? "" : "<search> capitals ";
  return { choices: [{ message: { content: search || `<answer> ${answer} ` }, finish_reason: "stop" }] };
};

const judge = (asked: Asked): unknown => {
  const content = asText(asked).includes("Milan") ? "no" : "yes";
  return { choices: [{ message: { content } }] };
};

test("models behind a server are evaluated and compared, judged by another one, losses counted", async () => {
  await using server = await startFaultServer(policy);
  await using judging = await startFaultServer(judge);
  await using retriever = await startFaultServer(retrieveReply);
  const out = join(folder, "runs", "eval.jsonl");
  const cache = join(folder, "judge.jsonl");
  const given = [
    ...["eval", "--endpoint", `${server.url}/v1`, "--questions", questions, "--retriever", retriever.url],
    ...["--judge", `${judging.url},model=j,cache=${cache}`, "--num-questions", "2"],
  ];
  const one = [...given, "--endpoint-model", "good", "--recipe", "search-r1"];
  const { value: good } = await runJson(...one, "--out", out, "--alone", "1");
  const { em, judge: share, judged, judgeFailures, rounds, formatAccuracy, lost, questions: count } = good;
  assert.deepEqual(
    { em, share, judged, judgeFailures, rounds, formatAccuracy, lost, count },
    { em: 0.5, share: 1, judged: 2, judgeFailures: 0, rounds: 1, formatAccuracy: 1, lost: 0, count: 2 },
  );
  assert.ok(Number(good.aloneSeconds) > 0);
  const asked = judging.asked.length;
  const both = [...given, "--recipe", "search-r1", "--endpoint-model", "bad", "--endpoint-model", "good"];
  const { value: compared } = await runJson(...both, "--out", out);
  // What was judged before stands in the cache; only Milan is news.
  assert.equal(judging.asked.length, asked + 1);
  const [bad, better] = compared.policies as Record<string, unknown>[];
  assert.deepEqual([bad?.name, bad?.em, bad?.judge, better?.judge], ["bad", 0.5, 0.5, 1]);
  const { em: gained } = (better as Record<string, unknown>).versusFirst as {
    em: { difference: number; questions: number };
  };
  assert.deepEqual([gained.difference, gained.questions], [0, 2]);
  const written = ["eval.bad.jsonl", "eval.good.jsonl", "eval.jsonl"].flatMap((name) => [
    name,
    `${name}.lock`,
  ]);
  assert.deepEqual((await readdir(join(folder, "runs"))).sort(), written);
  const lines = (await readFile(join(folder, "runs", "eval.bad.jsonl"), "utf8")).trim().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line).judge).sort(), [0, 1]);
  const table = await runCli(...both);
  assert.match(
    table.stdout,
    /^good +2 +0\.500 +\d\.\d+ +\d\.\d+ +1\.000 .*0\.000 +0\.000 +0\.000 +1\.0000$/m,
  );
});

test("a server that is not there, or does not know the model, is found out before the first question", async () => {
  await using server = await startFaultServer(policy);
  const given = ["eval", "--endpoint", server.url, "--endpoint-model", "none", "--questions", questions];
  server.otherwise = { status: 404, body: "no such model" };
  const unknown = await runCli(...given, "--baseline", "direct");
  assert.deepEqual([unknown.code, server.asked.length], [1, 1]);
  assert.match(unknown.stderr, /ERR_REMOTE: .*expected status 200, got 404: no such model/);
  await server.stop();
  const began = performance.now();
  const gone = await runCli(...given, "--baseline", "direct");
  assert.match(gone.stderr, /ERR_REMOTE: .*ECONNREFUSED/);
  assert.ok(performance.now() - began < 20_000);
});

test("a training run's folder stands for its checkpoints, and several models are told apart by their paths", async () => {
  const tiny = join(folder, "tiny");
  await writeTinyModel(tiny);
  const run = join(folder, "run");
  for (const name of ["step-000010", "step-000002"]) {
    await mkdir(join(run, "checkpoints"), { recursive: true });
    await cp(tiny, join(run, "checkpoints", name), { recursive: true });
  }
  const given = ["eval", "--questions", questions, "--baseline", "direct", "--limits", "maxResponseTokens=4"];
  const { value } = await runJson(...given, "--model", tiny, "--model", run);
  const policies = value.policies as { name: string; questions: number; em: number }[];
  assert.deepEqual(
    policies.map(({ name, questions: count }) => [name, count]),
    [
      ["tiny", 3],
      ["step-000002", 3],
      ["step-000010", 3],
    ],
  );
  for (const args of [
    [],
    ["--model", tiny, "--endpoint", "http://127.0.0.1:9"],
    ["--endpoint", "http://127.0.0.1:9"],
    ["--model", tiny, "--tokenizer", tiny],
    ["--model", tiny, "--model", tiny],
    ["--model", tiny, "--judge", "cache=x"],
    ["--endpoint", "http://127.0.0.1:9", "--endpoint-model", "m", "--baseline", "flare"],
  ]) {
    const { code, stdout } = await runCli(...given, ...args);
    assert.deepEqual([code, stdout], [2, ""], args.join(" "));
  }
});

test("a recipe answers from memory without an index, and other recipes are refused that choice", async () => {
  const tiny = join(folder, "memory");
  await writeTinyModel(tiny);
  const given = ["eval", "--model", tiny, "--questions", questions, "--limits", "maxResponseTokens=4"];
  const { value } = await runJson(...given, "--recipe", "search-r1,memoryOnly");
  assert.deepEqual([value.questions, value.rounds], [3, 0]);
  for (const more of [
    ["--recipe", "research,memoryOnly"],
    ["--recipe", "rag-r1,memoryOnly,worldPrompt"],
  ]) {
    assert.equal((await runCli(...given, ...more)).code, 2);
  }
});

test("a model is asked by the recipe that its folder or its run states, and the first line says by which", async () => {
  await using retriever = await startFaultServer(retrieveReply);
  const run = join(folder, "trained");
  await writeTinyModel(join(run, "model"));
  await writeFile(join(run, "config.yaml"), "recipe: { name: search-r1, algorithm: grpo }\n");
  await writeTinyModel(join(folder, "alone"));
  const asked: readonly (readonly [string, RegExp])[] = [
    [join(projectRoot, "world", "checkpoint"), /^a model of the built-in world .* by that world's recipe\n/],
    [join(run, "model"), /^asked by search-r1's recipe, as it was trained in .*trained\n/],
    [join(folder, "alone"), /^asked by rag-r1's recipe: nothing beside the model states one/],
  ];
  const given = ["--questions", questions, "--retriever", retriever.url, "--num-questions", "1"];
  for (const [model, said] of asked) {
    const { value, stderr } = await runJson("eval", "--model", model, ...given);
    assert.match(stderr, said);
    assert.equal(value.formatAccuracy, model.endsWith("checkpoint") ? 1 : 0);
  }
  const { stderr } = await runJson("eval", "--model", join(run, "model"), "--recipe", "rag-r1", ...given);
  assert.doesNotMatch(stderr, /asked by/);
});

/** index, search and eval from outside, on a few passages and a tiny random model. */
import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { Reranker } from "../../lib/embed/reranker.ts";
import { projectRoot } from "../project.ts";
import { retrieveReply, startFaultServer } from "../remote/fault-server.ts";
import { runCli } from "./run-cli.ts";
import { writeTinyModel } from "./tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const [model, corpus, index, questions] = ["model", "corpus.jsonl", "index", "questions.jsonl"].map((name) =>
  join(folder, name),
) as [string, string, string, string];

const noScores = { em: 0, f1: 0, acc: 0, precision: 0, recall: 0 };

function jsonLines(rows: readonly object[]): string {
  return rows.map((row) => `${JSON.stringify(row)}\n`).join("");
}

await writeTinyModel(model);
await writeFile(
  corpus,
  jsonLines([
    { id: "1", title: "Paris", text: "Paris is the capital of France." },
    { id: "2", title: "Rome", text: "Rome is the capital of Italy." },
  ]),
);
await writeFile(
  questions,
  jsonLines([
    { question: "capital of France?", answers: ["Paris"] },
    { question: "capital of Italy?", golden_answers: "Rome" },
    { question: "capital of Peru?", answers: ["Lima"] },
  ]),
);

async function runJson(...args: string[]): Promise<Record<string, unknown>> {
  const { code, stdout, stderr } = await runCli(...args, "--json");
  assert.equal(code, 0, stderr);
  return JSON.parse(stdout) as Record<string, unknown>;
}

test("an index is built, searched, and evaluated over", async () => {
  const built = await runJson("index", "build", "--corpus", corpus, "--out", index);
  assert.deepEqual([built.passages, Object.keys(built.settings as object)], [2, ["bm25", "dense"]]);

  const { results } = (await runJson(
    "search",
    "--index",
    index,
    "--query",
    "Italy",
    "--query",
    "France",
  )) as {
    results: { query: string; hits: { id: string; title: string; score: number }[] }[];
  };
  assert.deepEqual(
    results.map(({ query, hits }) => [query, hits[0]?.title]),
    [
      ["Italy", "Rome"],
      ["France", "Paris"],
    ],
  );

  const ranker = join(projectRoot, "test", "golden", "embed", "bert-rank");
  const asked = ["--query", "Italy", "--top-k", "2"];
  const ranked = (await runJson(
    "search",
    "--index",
    index,
    ...asked,
    "--reranker",
    `${ranker},from=2`,
  )) as typeof built & {
    results: { hits: { title: string; score: number }[] }[];
  };
  await using reranker = await Reranker.open(ranker);
  const hits = ranked.results[0]?.hits ?? [];
  const texts = hits.map(
    ({ title }) => `${title}\n${title} is the capital of ${title === "Rome" ? "Italy" : "France"}.`,
  );
  const scores = await reranker.score("Italy", texts);
  assert.deepEqual(
    hits.map(({ score }) => score),
    [...scores],
  );
  assert.ok((scores[0] ?? 0) >= (scores[1] ?? 0));

  const config = join(folder, "eval.yaml");
  await writeFile(
    config,
    `model: ${model}\nindex: ${index}\nquestions: ${questions}\nlimits: {maxTurns: 2}\n`,
  );
  const out = join(folder, "eval.jsonl");
  const given = ["--config", config, "--limits", "maxResponseTokens=8", "--num-questions", "2", "--out", out];
  const { secondsPerQuestion, latencySeconds, aloneSeconds, intervals, generatedTokens, ...means } =
    await runJson(...["eval", ...given, "--alone", "1"]);
  const noAnswers = { retrievalRecall: 0, retrievalPrecision: null, formatAccuracy: 0, answerAccuracy: null };
  const noJudge = { judge: null, judgeAnswered: null, judged: 0, judgeFailures: 0, lost: 0 };
  const noSearches = { rounds: 0, failures: 0, questions: 2 };
  const { observedTokens, ...others } = means;
  assert.deepEqual(others, { ...noScores, ...noAnswers, ...noJudge, ...noSearches });
  assert.ok(Number(secondsPerQuestion) > 0 && Number(latencySeconds) > 0 && Number(aloneSeconds) > 0);
  assert.ok(Number(generatedTokens) > 0 && Number(observedTokens) > 0);
  assert.deepEqual((intervals as Record<string, unknown>).em, [0, 0]);
  assert.equal((await readFile(out, "utf8")).trim().split("\n").length, 2);
});

test("a file of questions is searched for in batches, and each line has its question's hits", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const out = join(folder, "hits.jsonl");
  const given = ["search", "--index", index, "--questions", questions];
  const done = await runJson(...given, "--out", out, "--top-k", "1", "--batch", "2");
  assert.deepEqual(done, { out, questions: 3 });
  const rows = (await readFile(out, "utf8"))
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line));
  assert.deepEqual(
    rows.slice(0, 2).map(({ id, answers, hits }) => [id, answers, hits.length, hits[0]?.title]),
    [
      ["q0", ["Paris"], 1, "Paris"],
      ["q1", ["Rome"], 1, "Rome"],
    ],
  );
  assert.equal(rows.length, 3);
  for (const wrong of [given, [...given, "--out", out, "--query", "Rome"]]) {
    const { code, stderr } = await runCli(...wrong);
    assert.equal(code, 2);
    assert.match(stderr, /expected (either --query or --questions|--questions and --out together)/);
  }
});

test("several sets are evaluated in one command, which goes on where it was stopped", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const other = join(folder, "other.jsonl");
  await writeFile(other, jsonLines([{ question: "capital of Chile?", answers: ["Santiago"] }]));
  const out = join(folder, "sets.jsonl");
  const options = ["--model", model, "--index", index, "--questions", questions, "--questions", other];
  const given = ["eval", ...options, "--limits", "maxTurns=1,maxResponseTokens=8", "--out", out];
  const whole = await runJson(...given);
  const sets = whole.sets as { name: string; questions: number }[];
  assert.deepEqual(
    sets.map(({ name, questions: count }) => [name, count]),
    [
      ["questions", 3],
      ["other", 1],
    ],
  );
  assert.deepEqual([whole.questions, whole.meanOfSets], [4, { em: 0, f1: 0, acc: 0 }]);
  const lines = await readFile(out, "utf8");
  await writeFile(out, lines.slice(0, lines.indexOf("\n") + 20));
  const { code, stdout, stderr } = await runCli(...given, "--resume");
  assert.equal(code, 0, stderr);
  assert.match(stdout, /^mean of sets +0\.000 +0\.000 +0\.000 *$/m);
  assert.match(stdout, /^em: 0 \(0 to 0\)$/m);
  const again = await readFile(out, "utf8");
  assert.equal(again.trim().split("\n").length, 4);
  assert.ok(again.startsWith(lines.slice(0, lines.indexOf("\n") + 1)));

  const warmer = await runCli(...given, "--resume", "--temperature", "1");
  assert.deepEqual([warmer.code, warmer.stdout], [1, ""]);
  assert.match(warmer.stderr, /^ERR_FORMAT: .*sets\.jsonl:1: expected "settings"/m);

  const careless = await runCli(...given);
  assert.deepEqual([careless.code, await readFile(out, "utf8")], [1, again]);
  assert.match(careless.stderr, /^ERR_STATE: .*sets\.jsonl: has answers of an earlier run: --resume/m);

  const { questions: count, mcnemar } = await runJson("eval", "compare", out, out);
  assert.deepEqual([count, mcnemar], [4, { onlyFirst: 0, onlySecond: 0, pValue: 1 }]);
  const table = await runCli("eval", "compare", out, out);
  assert.match(table.stdout, /^em +0\.0000 +0\.0000 +0\.0000 +0\.0000 +0\.0000 +1\.0000$/m);
});

test("baselines are evaluated by the same command, without an index where they do not search", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const given = ["eval", "--model", model, "--questions", questions, "--limits", "maxResponseTokens=8"];
  const direct = await runJson(...given, "--baseline", "direct");
  assert.deepEqual([direct.questions, direct.rounds, direct.retrievalRecall], [3, 0, 0]);
  const rag = await runJson(...given, "--baseline", "rag", "--index", index, "--limits", "topK=1");
  // Of Paris, Rome and Lima the corpus knows two.
  assert.deepEqual([rag.questions, rag.rounds, rag.retrievalRecall], [3, 1, 2 / 3]);
  assert.ok(Number(rag.observedTokens) > 0);
});

test("a model is fine-tuned, and trained by its rewards; each result is a model folder", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const data = join(folder, "sft.jsonl");
  await writeFile(
    data,
    jsonLines([
      { prompt: "capital of France?", completion: "<answer> Paris </answer>" },
      {
        segments: [
          { kind: "prompt", text: "q" },
          { kind: "policy", text: "<search> q </search>" },
          { kind: "observation", text: "nothing" },
          { kind: "policy", text: "<answer> x </answer>" },
        ],
      },
    ]),
  );
  const tuning = ["sft", "--model", model, "--data", data, "--out", join(folder, "sft"), "--epochs", "4"];
  const sft = await runJson(...tuning);
  assert.equal(sft.steps, 1);
  assert.ok(Number(sft.loss) > 0);
  const { stdout: tuned } = await runCli(...tuning);
  assert.match(tuned, /^1 steps were done before; model in /);

  const config = join(folder, "train.json");
  const sizes = { limits: { maxTurns: 2, maxResponseTokens: 8 }, batchQuestions: 2, samples: 2, steps: 2 };
  const run = {
    model: sft.model,
    index,
    questions,
    evalQuestions: questions,
    evalEvery: 1,
    out: join(folder, "rl"),
  };
  await writeFile(config, JSON.stringify({ ...run, ...sizes, algorithm: "grpo", learningRate: 0.001 }));
  const plan = await runCli("train", "--config", config, "--dry-run");
  assert.equal(plan.code, 0, plan.stderr);
  assert.match(plan.stderr, /^model +\S+: [\d,]+ parameters, float32 on cpu$/m);
  assert.match(plan.stderr, /^memory .* weights .* gradients .* optimiser .* reference .* cache 1.07 GB$/m);
  assert.match(plan.stderr, /^time +at most [\d.]+ s a step .* measured on 2 of 2 questions$/m);
  await assert.rejects(readdir(join(folder, "rl")), "a dry run writes nothing");
  const trained = await runJson("train", "--config", config);
  const metrics = trained.metrics as Record<string, number>;
  assert.deepEqual([trained.steps, metrics.step, metrics["eval/em"]], [2, 2, 0]);
  const { stdout: before } = await runCli("train", "--config", config);
  assert.match(before, /^2 steps were done before; model in /);
  const { stdout: longer, stderr: told } = await runCli("train", "--config", config, "--steps", "3");
  assert.match(
    told,
    /^step 3\/3 +reward 0\.000 +EM 0\.0 +KL \S+ +entropy \S+ +search 0 % +[\d,]+ tokens\/s +\S+ s/m,
  );
  assert.match(told, /no rollout searched; remedy: /);
  assert.match(longer, /^3 steps, reward 0\.000 in the last; model in /);
  const lines = (await readFile(join(folder, "rl", "metrics.jsonl"), "utf8")).trim().split("\n");
  assert.equal(lines.length, 3);
  const ppo = await runJson("train", "--config", config, "--algorithm", "ppo", "--out", join(folder, "ppo"));
  const documented = await readFile(join(projectRoot, "docs", "training.md"), "utf8");
  const unknown = Object.keys({ ...metrics, ...(ppo.metrics as object) }).filter((name) => {
    return !documented.includes(`\`${name}\``);
  });
  assert.deepEqual(unknown, [], "docs/training.md names every metric");
  const { samples } = await runJson(
    "generate",
    "--model",
    String(trained.model),
    "--prompt",
    "q",
    "--max-tokens",
    "2",
  );
  assert.equal((samples as unknown[]).length, 1);
});

test("train takes ReMax, an adaptive KL, dynamic sampling and a changing number of rollouts; it evaluates first", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const sources = join(folder, "sources.jsonl");
  await writeFile(sources, jsonLines([{ question: "nq", answers: ["x"], source: "nq" }]));
  const other = join(folder, "musique.jsonl");
  await writeFile(other, jsonLines([{ question: "musique", answers: ["x"] }]));
  const sizes = ["--batch-questions", "2", "--steps", "2", "--limits", "maxTurns=1,maxResponseTokens=4"];
  const given = ["train", "--model", model, "--index", index, "--questions", questions, ...sizes];
  const evaluation = ["--eval-questions", sources, "--eval-questions", other, "--eval-first"];
  const kl = ["--algorithm", "remax,kl.adaptive.target=0.05,kl.adaptive.horizon=10"];
  const counts = ["--samples", "2", "--samples-at-end", "1"];
  const out = join(folder, "remax");
  const { metrics } = await runJson(...given, ...kl, ...counts, ...evaluation, "--out", out);
  const lines = (await readFile(join(out, "metrics.jsonl"), "utf8")).trim().split("\n");
  const all = lines.map((line) => JSON.parse(line) as Record<string, number>);
  assert.deepEqual(
    all.map(({ step, "policy/kl_coef": coef }) => [step, coef]),
    [
      [0, undefined],
      [1, 0.001],
      [2, 0.001 * (1 - (0.2 * 4) / 10)],
    ],
  );
  assert.deepEqual([all[0]?.["eval/em/nq"], all[0]?.["eval/em/musique"]], [0, 0]);
  assert.equal((metrics as Record<string, number>)["reward/greedy"], 0);
  const refilled = ["--algorithm", "dapo,dynamicSampling=1", "--samples", "2", "--out", join(folder, "dapo")];
  const dapo = (await runJson(...given, ...refilled)).metrics as Record<string, number>;
  assert.deepEqual([dapo["groups/asked"], dapo["groups/equal"]], [3, 1]);
  const wrong = await runCli(...given, "--algorithm", "grpo,kl.adaptive.target=1", "--out", out);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--algorithm: kl.adaptive: expected a KL in the reward/);
});

test("train takes ways that do not search, or search once, and rewards from a server", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const sizes = [
    "--batch-questions",
    "2",
    "--steps",
    "1",
    "--samples",
    "2",
    "--limits",
    "maxResponseTokens=4",
  ];
  const given = ["train", "--model", model, "--questions", questions, ...sizes, "--algorithm", "rloo"];
  const out = join(folder, "plain");
  const cot = await runJson(...given, "--baseline", "cot", "--out", out);
  assert.equal((cot.metrics as Record<string, number>)["search/rounds"], 0);
  const [line = ""] = (await readFile(join(out, "trajectories.jsonl"), "utf8")).split("\n");
  const { segments } = JSON.parse(line) as { segments: { kind: string }[] };
  assert.deepEqual(
    segments.map(({ kind }) => kind),
    ["prompt", "policy"],
  );
  await using server = await startFaultServer(({ body }) => ({
    rewards: (body as { query: string[] }).query.map((_, i) => i),
  }));
  const scored = ["--baseline", "rag", "--index", index, "--reward-url", server.url];
  const rag = await runJson(...given, ...scored, "--out", join(folder, "scored"));
  const metrics = rag.metrics as Record<string, number>;
  assert.equal(metrics["search/rounds"], 1);
  assert.ok(metrics["reward/mean"]! > 0);
  const [{ body } = { body: undefined }] = server.asked;
  assert.match((body as { query: string[] }).query[0] ?? "", /capital of [\s\S]*Paris|Rome|Lima/);
  server.otherwise = { status: 400, body: "no" };
  const failed = await runCli(...given, ...scored, "--out", join(folder, "unscored"));
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /not rewarded: .*\/get_reward: expected status 200, got 400/);
  assert.equal(failed.stderr.match(/not rewarded/g)?.length, 1);
});

test("search and eval ask a retrieval server in place of an index", async () => {
  await using server = await startFaultServer(retrieveReply);
  const searched = await runJson("search", "--retriever", server.url, "--query", "Italy", "--top-k", "1");
  const hit = { id: "0", title: "Title 0", text: "about Italy", score: 1 };
  assert.deepEqual(searched, { results: [{ query: "Italy", hits: [hit] }] });

  const given = ["--model", model, "--questions", questions, "--limits", "maxTurns=1,maxResponseTokens=2"];
  const { questions: count } = await runJson("eval", "--retriever", server.url, ...given);
  assert.equal(count, 3);

  server.otherwise = { status: 400, body: "no such index" };
  const failed = await runCli("search", "--retriever", server.url, "--query", "Italy");
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /\/retrieve: expected status 200, got 400: no such index/);
  for (const both of [[], ["--index", index, "--retriever", server.url]]) {
    const { code, stderr } = await runCli("search", "--query", "x", ...both);
    assert.equal(code, 2);
    assert.match(stderr, /expected one of --index, --retriever, --web, got (none|--index and --retriever)/);
  }
  const stray = await runCli("search", "--query", "x", "--retriever", `${server.url},mode=bm25`);
  assert.equal(stray.code, 2);
  assert.match(stray.stderr, /--retriever: unknown key "mode"; expected one of url, protocol, keyEnv/);
});

test("search asks an engine of the web, and the engine once for a question", async () => {
  const found = {
    organic: [{ title: "Paris", link: "http://127.0.0.1:1/", snippet: "The capital of France." }],
  };
  await using engine = await startFaultServer(() => found);
  process.env.SERPER_API_KEY = "k";
  const web = `serper,url=${engine.url},cache=${join(folder, "web")},site=en.wikipedia.org`;
  const given = ["--query", "France", "--top-k", "2"];
  const hit = { id: "http://127.0.0.1:1/", title: "Paris", text: "The capital of France.", score: 1 };
  for (const pages of ["", ",pages"]) {
    const searched = await runJson("search", ...given, "--web", `${web}${pages}`);
    assert.deepEqual(searched, { results: [{ query: "France", hits: [hit] }] });
  }
  delete process.env.SERPER_API_KEY;
  assert.deepEqual(
    engine.asked.map(({ body }) => body),
    [{ q: "France site:en.wikipedia.org", num: 2 }],
  );
  const without = await runCli("search", ...given, "--web", web);
  assert.equal(without.code, 1);
  assert.match(without.stderr, /SERPER_API_KEY: expected an API key in this environment variable, got none/);
});

test("an unknown key in the config file is refused with the nearest spelling", async () => {
  const config = join(folder, "wrong.yaml");
  await writeFile(config, "modle: x\n");
  const { code, stderr } = await runCli("eval", "--config", config);
  assert.equal(code, 2);
  assert.match(stderr, /wrong\.yaml: unknown key "modle"; did you mean "model"\?/);
});

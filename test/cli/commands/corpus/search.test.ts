/** `index build`, `search` and `eval` from outside: over an index, a retrieval server and the web. */
import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Reranker } from "../../../../lib/search/embed/reranker.ts";
import { retrieveReply, startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { projectRoot } from "../../../project.ts";
import { runCli, runJson } from "../../run-cli.ts";
import { corpus, folder, index, model, noScores, questions } from "../../tiny-corpus.ts";

test("an index is built, searched, and evaluated over", async () => {
  const built = await runJson("index", "build", "--corpus", corpus, "--out", index);
  assert.deepEqual(
    [built.passages, Object.keys(built.settings as object)],
    [2, ["analyser", "bm25", "dense"]],
  );

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
  assert.equal(hits.length, 2);
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
    assert.match(stderr, /expected (what to look for, or --questions|--questions and --out together)/);
  }
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
    assert.match(
      stderr,
      /expected one of --index, --retriever, --shards, --web, got (none|--index and --retriever)/,
    );
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
  const given = ["France", "--top-k", "2"];
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

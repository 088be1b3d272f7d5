/** A language model that rewards, from outside and part by part. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { z } from "zod";
import { judgeRewardOptions, openJudgeRewards } from "../../../../apps/cli/open/judge-rewards.ts";
import { chooseRecipe } from "../../../../apps/cli/options/recipe-options.ts";
import { type Asked, startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { projectRoot } from "../../../project.ts";
import { asks, segment, spoken } from "../../../reward/spoken.ts";
import { runCli } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const [model, questions, rating] = ["model", "questions.jsonl", "rating.txt"].map((name) =>
  join(folder, name),
) as [string, string, string];
await writeTinyModel(model);
await writeFile(questions, '{"question": "In which city was Garudra born?", "answers": ["Rome"]}\n');
await writeFile(rating, "RATE {question} BY {context}");

/** Rates what the file asks for by 1, and finds every answer right but Bergen. */
const judge = ({ body }: Asked): unknown => {
  const text = JSON.stringify(body);
  const content = text.includes("RATE") ? "1" : text.includes("Bergen") ? "no" : "yes";
  return { choices: [{ message: { content } }] };
};
const schema = z.object(judgeRewardOptions);

test("answers are judged and searches rated: accuracy and relevance of Agentic-RAG-R1, the reward of others", async () => {
  await using server = await startFaultServer(judge);
  const named = { url: server.url, model: "j" };
  const choice = schema.parse({ judge: { ...named, relevance: true, relevancePrompt: rating } });
  await using opened = await openJudgeRewards(choice.judge);
  const said = (answer: string) => {
    const turns = spoken("<search> a </search>", "found", `<answer> ${answer} </answer>`);
    return { ...turns, answer };
  };
  const agentic = chooseRecipe({ name: "agentic-rag-r1", tokenLevel: false }, opened);
  // Three for the answer, one for form, one of two for relevance.
  assert.equal(await agentic.reward(said("the city of Rome"), asks("Rome")), 5);
  assert.equal(await agentic.reward(said("Bergen"), asks("Rome")), 2);
  assert.ok(server.asked.some(({ body }) => JSON.stringify(body).includes("RATE what? BY found")));

  await using plain = await openJudgeRewards(schema.parse({ judge: named }).judge);
  const { reward } = chooseRecipe({ name: "rag-r1" }, plain);
  assert.equal(await reward(said("the city of Rome"), asks("Rome")), 1);
  assert.equal(
    await reward({ ...said("x"), segments: [segment("policy", "no")], answer: "Bergen" }, asks("Rome")),
    0,
  );
  server.otherwise = { status: 400, body: "no" };
  await assert.rejects(async () => reward(said("Milan"), asks("Rome")), { code: "ERR_REMOTE" });
});

test("train takes its reward from a judge, and asks nothing twice that stands in its cache", async () => {
  await using server = await startFaultServer(judge);
  const checkpoint = join(projectRoot, "world", "checkpoint");
  const [corpus, index] = [join(folder, "corpus.jsonl"), join(folder, "index")];
  await writeFile(corpus, '{"id": "1", "title": "Garudra", "text": "Garudra was born in Oslo."}\n');
  assert.equal((await runCli("index", "build", "--corpus", corpus, "--out", index)).code, 0);
  const given = ["train", "--model", checkpoint, "--questions", questions, "--index", index];
  const sizes = ["--batch-questions", "1", "--steps", "1", "--samples", "2"];
  const cache = join(folder, "judge.jsonl");
  const judged = ["--judge", `${server.url},model=j,cache=${cache}`];
  const choice = ["--recipe", "world", "--algorithm", "rloo", ...judged];
  const { code, stdout, stderr } = await runCli(
    ...given,
    ...sizes,
    ...choice,
    ...["--out", join(folder, "run"), "--json"],
  );
  assert.equal(code, 0, stderr);
  const { metrics } = JSON.parse(stdout) as { metrics: Record<string, number> };
  assert.ok(metrics["reward/mean"]! > 0, "by the question's own answers it would be 0");
  assert.equal((await readFile(cache, "utf8")).trim().split("\n").length, server.asked.length);
});

test("half a judge, and parts that a recipe does not have, are refused before anything is loaded", async () => {
  const given = [
    "train",
    "--model",
    model,
    "--questions",
    questions,
    "--baseline",
    "direct",
    "--out",
    folder,
  ];
  const url = "http://127.0.0.1:9/v1";
  const cases = [
    [["--judge", "relevance=true"], /--judge: url: required/],
    [
      ["--judge", `${url},model=j,relevancePrompt=${rating}`],
      /relevancePrompt: expected only with relevance/,
    ],
    [["--judge", `${url},model=j,relevance`], /--judge: relevance: expected only with agentic-rag-r1/],
    [["--judge", url], /--judge: model: required/],
    [["--judge", `${url},model=j`, "--reward-url", url], /--reward-url: expected without --judge/],
    [
      ["--judge", `${url},model=j`, "--recipe", "agentic-rag-r1,accuracy=f1"],
      /--recipe: accuracy: expected without --judge/,
    ],
  ] as const;
  for (const [flags, message] of cases) {
    const { code, stderr } = await runCli(...given, ...flags);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});

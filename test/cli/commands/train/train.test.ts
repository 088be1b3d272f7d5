/** `sft` and `train` from outside, on a tiny random model. */
import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { startFaultServer } from "../../../connectors/remote/fault-server.ts";
import { projectRoot } from "../../../project.ts";
import { runCli, runJson } from "../../run-cli.ts";
import { corpus, folder, index, jsonLines, model, questions } from "../../tiny-corpus.ts";

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
  const short = await runCli(...tuning, "--context-tokens", "40");
  assert.equal(short.code, 1, short.stderr);
  assert.match(
    short.stderr,
    /sequence \d: expected up to 40 tokens .*; load the model with contextTokens from \d+ on/,
  );
  await assert.rejects(readdir(join(folder, "sft")), "a refused training writes nothing");
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
  assert.match(plan.stderr, /^memory .* weights .* gradients .* optimiser .* reference .* cache 1\.1 GB$/m);
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
  assert.match(told, /^resumes after step 2 \(.*checkpoints.step-000002\)$/m);
  assert.match(told, /no rollout searched; remedy: /);
  assert.match(longer, /^3 steps, reward 0\.000 in the last; model in /);
  const lines = (await readFile(join(folder, "rl", "metrics.jsonl"), "utf8")).trim().split("\n");
  assert.equal(lines.length, 3);
  const ahead = ["--algorithm", "ppo", "--staleness", "1", "--out", join(folder, "ppo")];
  const ppo = await runJson("train", "--config", config, ...ahead);
  assert.equal((ppo.metrics as Record<string, number>)["staleness/max"], 1);
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

test("train --lora changes an adapter alone, which the next training goes on with", async () => {
  await runJson("index", "build", "--corpus", corpus, "--out", index);
  const sizes = ["--batch-questions", "2", "--samples", "2", "--limits", "maxTurns=1,maxResponseTokens=4"];
  const given = ["train", "--model", model, "--index", index, "--questions", questions, ...sizes];
  const grpo = ["--algorithm", "grpo,entropyCoef=0.1", "--learning-rate", "0.1", "--steps", "1"];
  const out = join(folder, "rl-lora");
  const first = await runJson(...given, ...grpo, "--lora", "4,targets=q_proj", "--out", out);
  assert.equal(first.steps, 1);
  const names = (await readdir(String(first.model))).sort();
  assert.deepEqual(names.slice(0, 2), ["adapter_config.json", "adapter_model.safetensors"]);
  const further = ["--adapter", String(first.model), "--out", join(folder, "rl-further")];
  const { stderr } = await runCli(...given, ...grpo, ...further, "--dry-run");
  assert.match(stderr, /^adapter .* parameters are trained$/m);
  const second = await runJson(...given, ...grpo, ...further);
  const stored = (from: unknown): Promise<Buffer> =>
    readFile(join(String(from), "adapter_model.safetensors"));
  assert.notDeepEqual(await stored(second.model), await stored(first.model));
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

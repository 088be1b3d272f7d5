/** Every recipe of the command line trains a tiny model for a step, and refuses choices that are not its own. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { r1Searcher } from "../../../lib/recipes/r1-searcher.ts";
import { promptText } from "../../../lib/rollout/session/prompt.ts";
import { CliCall, runCli } from "../run-cli.ts";
import { writeTinyModel } from "../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const path = (name: string): string => join(folder, name);

await writeTinyModel(path("model"));
const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");
await writeFile(path("corpus.jsonl"), lines([{ id: "1", title: "Rome", text: "a city" }]));
await writeFile(path("questions.jsonl"), lines([{ question: "which city?", answers: ["Rome"] }]));
await writeFile(path("prompt.txt"), "Answer {{briefly}}. {prompt}");
await runCli("index", "build", "--corpus", path("corpus.jsonl"), "--out", path("index"));

const common = {
  ...{ model: path("model"), index: path("index"), questions: path("questions.jsonl") },
  ...{ steps: 1, batchQuestions: 1, samples: 2, limits: { maxTurns: 2, maxResponseTokens: 4 } },
};
await writeFile(path("train.json"), JSON.stringify(common));

async function train(...args: string[]) {
  return runCli(
    "train",
    "--config",
    path("train.json"),
    "--out",
    path(`run${args.join("")}`.replace(/\W/g, "").slice(0, 100)),
    ...args,
  );
}

const choices = [
  "rag-r1,queries=single,faithful",
  "search-r1,algorithm=grpo,formatReward",
  `research,template=base,variant=paper,promptFile=${path("prompt.txt")}`,
  "r1-searcher,stage=zero,fewSearches",
  `agentic-rag-r1,selfSearch,language=zh,promptFile=${path("prompt.txt")}`,
  `agentic-rag-r1,form=points,accuracy=f1,promptFile=${path("prompt.txt")}`,
  "agentic-rag-r1,faithful,accuracy=option,queries=single",
  "agentic-rag-r1,tokenLevel=false,worldPrompt",
  "world",
];

for (const choice of choices) {
  test(`a model is trained with ${choice.split(",promptFile")[0]}`, async () => {
    const { code, stdout, stderr } = await train("--recipe", choice, "--json");
    assert.equal(code, 0, stderr);
    const { steps, metrics } = JSON.parse(stdout) as { steps: number; metrics: Record<string, number> };
    assert.equal(steps, 1);
    assert.ok(Number(metrics["tokens/policy"]) > 0);
  });
}

test("Ctrl-C keeps the steps of a training and says how it goes on", async () => {
  const out = path("interrupted");
  await mkdir(out);
  const args = ["--config", path("train.json"), "--recipe", "world", "--steps", "100000", "--out", out];
  const call = new CliCall(["train", ...args]);
  await call.until(/^step 1\//m, "stderr");
  const { code, stderr } = await call.interrupt();
  assert.equal(code, 1);
  assert.match(stderr, /^ERR_ABORTED: interrupted; the same command goes on from the last finished step$/m);
  assert.match((await readdir(join(out, "checkpoints"))).join(), /^step-\d{6}$/);
});

test("R1-Searcher changes its stage by itself, and a finished training is not run again", async () => {
  const args = ["--recipe", "r1-searcher,stage=auto", "--json"];
  const first = await train(...args);
  assert.equal(first.code, 0, first.stderr);
  const { model, metrics } = JSON.parse(first.stdout) as { model: string; metrics: Record<string, number> };
  const rows = async (stage: string): Promise<number> => {
    return (await readFile(join(dirname(dirname(model)), stage, "metrics.jsonl"), "utf8")).trim().split("\n")
      .length;
  };
  // One step each: a tiny random model never searches, so stage 1 ends after its last step.
  assert.deepEqual(
    [metrics.step, metrics["search/share"], await rows("stage1"), await rows("stage2")],
    [1, 0, 1, 1],
  );
  const again = await train(...args);
  assert.equal((JSON.parse(again.stdout) as { metrics: null }).metrics, null);
});

test("R1-Searcher's first stage ends in the step in which the rollouts search often enough", async () => {
  const taught = path("taught");
  const prompt = promptText(r1Searcher({ stage: 1 }).format, "which city?");
  const completion = "<|begin_of_query|> a <|end_of_query|>";
  await writeFile(path("demonstration.jsonl"), lines([{ prompt, completion }]));
  const sft = ["sft", "--model", path("model"), "--data", path("demonstration.jsonl"), "--out", taught];
  const rates = [
    "--epochs",
    "200",
    "--batch-size",
    "1",
    "--learning-rate",
    "0.01",
    "--optimizer",
    "weightDecay=0",
  ];
  assert.equal((await runCli(...sft, ...rates)).code, 0);
  const model = [
    "--model",
    join(taught, "model"),
    "--limits",
    "maxResponseTokens=60",
    "--temperature",
    "0.1",
  ];
  const args = ["--steps", "3", ...model, "--json"];
  const stepsOf = async (searchShare: number): Promise<number[]> => {
    const recipe = `r1-searcher,stage=auto,searchShare=${searchShare}`;
    const { code, stdout, stderr } = await train(...args, "--recipe", recipe);
    assert.equal(code, 0, stderr);
    const out = dirname(dirname((JSON.parse(stdout) as { model: string }).model));
    const logs = ["stage1", "stage2"].map((stage) => readFile(join(out, stage, "metrics.jsonl"), "utf8"));
    return (await Promise.all(logs)).map((log) => log.trim().split("\n").length);
  };
  assert.deepEqual(await stepsOf(0.5), [1, 3]);
});

test("a choice that the recipe does not have is refused with those it has", async () => {
  const refusals = [
    ["rag-r1,stage=1", /--recipe: rag-r1 has no "stage", which is of r1-searcher; it has queries, faithful/],
    ["world,faithful", /--recipe: world has no "faithful", .*; it has queries$/m],
    ["search-r1,querys=multi", /--recipe: unknown key "querys"; expected one of algorithm/],
    ["rag-r1,querys=multi", /--recipe: unknown key "querys"; did you mean "queries"\?/],
    ["rag-r1,queries=many", /--recipe: queries: expected one of single, multi, got "many"/],
    ["r1searcher", /--recipe: unknown name "r1searcher"; did you mean "r1-searcher"\?/],
    ["rag-r1,a b", /--recipe: expected key=value, separated by commas; got "a b"/],
  ] as const;
  for (const [recipe, message] of refusals) {
    const { code, stderr } = await train("--recipe", recipe);
    assert.equal(code, 2, stderr);
    assert.match(stderr, message);
  }
});

test("a key that is given twice in one option is refused", async () => {
  for (const [name, value, key] of [
    ["--lora", "4,rank=8", "rank"],
    ["--recipe", "rag-r1,queries=multi,queries=single", "queries"],
    ["--algorithm", "dapo,clip=1,clip.high=2", "clip.high"],
  ] as const) {
    const { code, stderr } = await train(name, value);
    assert.equal(code, 2, stderr);
    assert.ok(stderr.includes(`${name}: ${key} is given twice`), stderr);
  }
});

test("a prompt file that cannot be read is named", async () => {
  const { code, stderr } = await train("--recipe", `research,promptFile=${path("none.txt")}`);
  assert.equal(code, 1);
  assert.match(stderr, /ERR_IO: --recipe promptFile: .*none\.txt: no such file or folder/);
});

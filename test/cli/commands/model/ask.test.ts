/** `seekrl ask` from outside, with the shipped model of the built-in world. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { createWorld } from "../../../../apps/world/world.ts";
import { readWorldFile } from "../../../../apps/world/world-file.ts";
import { writeQuestions } from "../../../../lib/data/question.ts";
import { Adapter } from "../../../../lib/model/adapter.ts";
import { Model } from "../../../../lib/model/model.ts";
import { buildIndex } from "../../../../lib/search/index-folder/build/build.ts";
import { projectRoot } from "../../../project.ts";
import { CliCall, runCli, runCliOn } from "../../run-cli.ts";
import { writeTinyModel } from "../../tiny-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
const index = join(folder, "index");
await buildIndex({ corpus: createWorld({ seed: 0 }).passages, out: index });
const question = "Who directed Nightwinter?";
const recipe = ["--index", index, "--recipe", "world"];
const given = ["--model", join(projectRoot, "world", "checkpoint"), ...recipe];

test("one question is answered: thoughts, queries, titles and the answer come in their order", async () => {
  const { code, stdout, stderr } = await runCli("ask", question, ...given);
  assert.equal(code, 0, stderr);
  const parts = ["<think>", "<search>", "  found: Nightwinter", "<answer>", "answer: "];
  const places = parts.map((part) => stdout.indexOf(part));
  assert.deepEqual(
    places,
    [...places].sort((a, b) => a - b),
  );
  assert.ok(!places.includes(-1), stdout);
  assert.match(stdout, /answer: \w+ \[1 search, \d+\.\d s\]\n$/);

  const json = await runCli("ask", question, ...given, "--json");
  const told = JSON.parse(json.stdout) as { answer: string; segments: { kind: string; text: string }[] };
  assert.ok(stdout.includes(`answer: ${told.answer} [`));
  const said = told.segments.filter(({ kind }) => kind === "policy").map(({ text }) => text);
  assert.ok(
    said.every((text) => stdout.includes(text.trimEnd())),
    "what is shown is what was said",
  );
});

test("a model of the built-in world is asked by that world's recipe and search, without being told", async () => {
  const checkpoint = join(projectRoot, "world", "checkpoint");
  const { code, stdout, stderr } = await runCli("ask", question, "--model", checkpoint);
  assert.equal(code, 0, stderr);
  assert.match(stderr, /a model of the built-in world of seed 0/);
  assert.match(stdout, /found: Nightwinter/);
  assert.match(stdout, /answer: \w+ \[1 search, /);

  const other = await runCli("ask", question, "--model", checkpoint, "--recipe", "world,queries=single");
  assert.equal(other.code, 0, other.stderr);
  assert.match(
    other.stdout,
    /found: Nightwinter/,
    "a recipe that is named takes the place of the recipe alone",
  );
});

test("a quantised, a merged and an adapted model of the world is asked like the one it was made of", async () => {
  const checkpoint = join(projectRoot, "world", "checkpoint");
  const [few, adapted, merged, trained] = ["few", "adapted", "merged", "trained"].map((name) =>
    join(folder, name),
  );
  const made = async (...args: (string | undefined)[]): Promise<void> => {
    const { code, stderr } = await runCli(...args.map(String));
    assert.equal(code, 0, stderr);
  };
  await made("quantize", "--model", checkpoint, "--out", few, "--weights", "int8");
  await using model = await Model.load(checkpoint);
  await using adapter = await Adapter.create(model, { rank: 2 });
  await adapter.save(String(adapted)); // says nothing of the world itself
  await made("merge", "--model", adapted, "--out", merged);
  const steps = [
    "--steps",
    "1",
    "--batch-questions",
    "2",
    "--samples",
    "2",
    "--limits",
    "maxTurns=1,maxResponseTokens=8",
  ];
  await writeQuestions(join(folder, "train.jsonl"), createWorld({ seed: 0 }).questions.train.slice(0, 2));
  const asked = ["--index", index, "--questions", join(folder, "train.jsonl"), ...steps, "--out", trained];
  await made("train", "--model", checkpoint, "--recipe", "search-r1,algorithm=grpo", "--lora", "2", ...asked);
  for (const [made, how] of [
    [few, "that world's recipe"],
    [adapted, "that world's recipe"],
    [merged, "that world's recipe"],
    [join(String(trained), "model"), "search-r1's recipe"],
  ] as const) {
    const { code, stdout, stderr } = await runCli("ask", question, "--model", String(made));
    assert.equal(code, 0, stderr);
    assert.ok(stderr.includes(`a model of the built-in world of seed 0: it is asked by ${how}`), stderr);
    if (how.startsWith("that")) assert.match(stdout, /found: Nightwinter[\s\S]*answer: /);
  }
});

test("sft notes the recipe whose demonstrations it was given, and the model is asked by that one", async () => {
  const checkpoint = join(projectRoot, "world", "checkpoint");
  const data = join(folder, "demonstrations.jsonl");
  await writeFile(data, `${JSON.stringify({ prompt: "Who?", completion: " Nightwinter" })}\n`);
  const sft = (model: string, ...more: string[]) =>
    runCli("sft", "--model", model, "--data", data, "--epochs", "1", "--lora", "2", ...more);
  const taught = join(folder, "taught");
  const trained = await sft(checkpoint, "--out", taught, "--recipe", "search-r1");
  assert.equal(trained.code, 0, trained.stderr);
  const asked = async (...more: string[]): Promise<string> => {
    const { code, stderr } = await runCli("ask", question, "--model", join(taught, "model"), ...more);
    assert.equal(code, 0, stderr);
    return stderr;
  };
  assert.match(await asked(), /it is asked by search-r1's recipe/);
  assert.match(await asked("--recipe", "rag-r1"), /it is asked by rag-r1's recipe/);

  const merged = join(folder, "taught-merged");
  const merge = await runCli("merge", "--model", join(taught, "model"), "--out", merged);
  assert.equal(merge.code, 0, merge.stderr);
  assert.equal((await readWorldFile(merged))?.recipe?.name, "search-r1");
  const other = join(folder, "no-world");
  await writeTinyModel(other);
  const refused = await sft(other, "--out", join(folder, "never"), "--recipe", "search-r1");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /--recipe: expected with a model of the built-in world/);
});

test("without a question each line of the input is one", async () => {
  const lines = `${question}\n\nWhere is Cryotech based?\n`;
  const { code, stdout, stderr } = await runCliOn(lines, "ask", ...given, "--json", "--baseline", "direct");
  assert.equal(code, 0, stderr);
  const { answers } = JSON.parse(stdout) as { answers: { question: string; rounds: number }[] };
  assert.deepEqual(
    answers.map(({ question: asked, rounds }) => [asked, rounds]),
    [
      [question, 0],
      ["Where is Cryotech based?", 0],
    ],
  );
});

test("Ctrl-C ends an answer that is under way and the conversation, without a stack", async () => {
  const model = join(folder, "endless");
  await writeTinyModel(model, { maxPosition: 8192 });
  const limits = ["--model", model, ...recipe, "--limits", "maxResponseTokens=8000,maxTokens=8100"];
  const call = new CliCall(["ask", ...limits, "--baseline", "direct"]);
  call.stdin.write(`${question}\n`);
  await call.until(/./);
  const { code, stdout, stderr } = await call.interrupt();
  assert.equal(code, 1);
  assert.match(stdout, /no answer \(aborted\)/);
  assert.equal(stderr, "");
});

test("one model is asked, not several", async () => {
  const { code, stderr } = await runCli("ask", question, ...given, "--model", folder);
  assert.equal(code, 2);
  assert.match(stderr, /--model: expected one model, got .*checkpoint, /);
  const run = join(folder, "run");
  for (const step of ["step-000008", "step-000010"])
    await mkdir(join(run, "checkpoints", step), { recursive: true });
  const remedy = async (command: string): Promise<string> => {
    const refused = await runCli(command, ...(command === "ask" ? [question] : []), "--model", run);
    assert.equal(refused.code, 1);
    return refused.stderr;
  };
  assert.match(
    await remedy("ask"),
    /^ERR_IO: --model: .*run is a training run\. Remedy: --model .*step-000010$/m,
  );
  await mkdir(join(run, "model"));
  for (const command of ["ask", "chat"]) {
    assert.match(
      await remedy(command),
      /^ERR_IO: --model: .*run is a training run\. Remedy: --model .*run\/model$/m,
    );
  }
});

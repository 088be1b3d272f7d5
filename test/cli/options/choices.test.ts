/** A recipe's choices and an algorithm's settings are data: one description gives checks, help and documentation. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Command } from "../../../apps/cli/command.ts";
import { commands } from "../../../apps/cli/commands.ts";
import { fieldsOf } from "../../../apps/cli/fields.ts";
import { commandHelp, keyTable } from "../../../apps/cli/help.ts";
import type { AgentOptions } from "../../../apps/cli/options/agent-options.ts";
import { type TrainingOptions, trainedRecipe } from "../../../apps/cli/options/training-options.ts";
import { readOptions } from "../../../apps/cli/options.ts";
import { algorithms } from "../../../lib/train/algorithm/algorithm.ts";
import { projectRoot } from "../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const { options: schema } = commands.find(({ name }) => name === "train") as Command;
const needed = "model: m\nquestions: q\nout: o\n";

/** The recipe that `seekrl train` plays with a file and flags. */
async function trained(yaml: string, flags: Readonly<Record<string, unknown>> = {}) {
  const path = join(folder, "train.yaml");
  await writeFile(path, `${needed}${yaml}`);
  return trainedRecipe((await readOptions(schema, flags, path)) as TrainingOptions & AgentOptions);
}

test("every setting of an algorithm that the originals have can be given in a file", async () => {
  const { algorithm, training, sampling } = await trained(`
recipe: {name: rag-r1, queries: single}
algorithm:
  name: dapo
  advantage: gae
  gamma: 0.99
  lambda: 0.95
  clip: {low: 0.1, high: 0.3, dual: 3}
  kl: {in: reward, estimator: k2, coef: 0.01, adaptive: {target: 0.1}}
  entropyCoef: 0.002
  aggregation: 1000
  valueClip: 0.2
  epochs: 2
  miniBatches: 8
  dynamicSampling: 0
optimizer: {decay: linear, weightDecay: 0.1, beta1: 0.8, beta2: 0.95, maxGradNorm: 0.5}
critic: {learningRate: 0.0001, warmupSteps: 3}
warmupSteps: 7
temperature: 0.9
`);
  assert.deepEqual(algorithm, {
    ...{ advantage: "gae", gamma: 0.99, lambda: 0.95, clip: { low: 0.1, high: 0.3, dual: 3 } },
    kl: { in: "reward", estimator: "k2", coef: 0.01, adaptive: { target: 0.1, horizon: 10_000 } },
    ...{ entropyCoef: 0.002, aggregation: { tokensPerSequence: 1000 }, valueClip: 0.2, epochs: 2 },
    ...{ miniBatches: 8, dynamicSampling: 0 },
  });
  const { decay, weightDecay, beta1, beta2, maxGradNorm, warmupSteps } = training;
  assert.deepEqual([decay, weightDecay, beta1, beta2, maxGradNorm], ["linear", 0.1, 0.8, 0.95, 0.5]);
  assert.deepEqual([warmupSteps, training.criticLearningRate, training.criticWarmupSteps], [7, 1e-4, 3]);
  assert.equal(sampling.temperature, 0.9);
});

test("settings without a name change the recipe's own algorithm, and a KL of weight 0 is none", async () => {
  const own = await trained("algorithm: {clip: {high: 0.3}, kl: {coef: 0.01}}\n");
  assert.deepEqual(own.algorithm.clip, { low: 0.2, high: 0.3, dual: undefined });
  assert.deepEqual(own.algorithm.kl, { ...algorithms.ppo.kl, coef: 0.01 });
  assert.equal((await trained("algorithm: {kl: {coef: 0}}\n")).algorithm.kl, undefined);
  assert.equal((await trained("")).algorithm, algorithms.ppo);
});

test("flags win over the file key by key, but another recipe does not inherit what the file's had", async () => {
  const file = "recipe: {name: r1-searcher, stage: 1}\nalgorithm: gspo,epochs=2\nlimits: {topK: 5}\n";
  const flags = { algorithm: { clip: { low: 0.1 } }, limits: { maxTurns: 2 } };
  const { algorithm, limits, training } = await trained(file, flags);
  assert.deepEqual([algorithm.epochs, algorithm.clip?.low, algorithm.clip?.high], [2, 0.1, 4e-4]);
  assert.deepEqual([limits.topK, limits.maxTurns, training.batchQuestions], [5, 2, 15]);
  const other = await trained(file, { recipe: { name: "rag-r1" } });
  assert.equal(other.training.batchQuestions, 512);
});

test("an unknown key is refused with the nearest spelling, and a wrong value with what was expected", async () => {
  const cases = [
    ["recipe: {name: rag-r1, querys: single}", /--recipe: unknown key "querys"; did you mean "queries"\?/],
    ["recipe: {name: rag-r2}", /--recipe: unknown name "rag-r2"; did you mean "rag-r1"\?/],
    ["recipe: {name: rag-r1, stage: 2}", /--recipe: rag-r1 has no "stage", which is of r1-searcher/],
    ["algorithm: {clip: {hihg: 0.3}}", /--algorithm: unknown key "clip.hihg"; did you mean "clip.high"\?/],
    ["algorithm: {epochs: many}", /--algorithm: epochs: expected .*, got "many"/],
    ["algorithm: {kl: {coef: -1}}", /--algorithm: kl.coef: .*>=0, got -1/],
    ["algorithm: 7", /--algorithm: expected object.*, got 7/],
    ["optimizer: {beta3: 1}", /--optimizer: unknown key "beta3"; did you mean "beta1"\?/],
  ] as const;
  for (const [yaml, message] of cases) {
    await assert.rejects(trained(`${yaml}\n`), (error: Error) => {
      assert.equal(error.name, "UsageError");
      assert.match(error.message, message);
      return true;
    });
  }
});

test("the documentation's tables are those of the schema", async () => {
  const field = (key: string) => fieldsOf(schema).find((each) => each.key === key);
  const page = async (name: string) => readFile(join(projectRoot, "docs", name), "utf8");
  const recipes = await page("recipes.md");
  const forms = field("recipe")?.forms ?? [];
  assert.ok(forms.length > 1);
  for (const form of forms) {
    const table = `### \`${form.name}\`\n\n${keyTable(form)}\n`;
    assert.ok(recipes.includes(table), `docs/recipes.md should hold:\n${table}`);
  }
  const training = await page("training.md");
  for (const key of ["algorithm", "optimizer", "critic"]) {
    const [form] = field(key)?.forms ?? [];
    assert.ok(form);
    assert.ok(training.includes(`${keyTable(form)}\n`), `docs/training.md should hold:\n${keyTable(form)}`);
  }
  const [lora] = field("lora")?.forms ?? [];
  assert.ok(lora && (await page("lora.md")).includes(`${keyTable(lora)}\n`), lora && keyTable(lora));
});

test("help is grouped, names every option and key, and keeps to the width of the terminal", () => {
  for (const command of commands) {
    for (const width of [60, 80, 120]) {
      const text = commandHelp(command, width);
      const long = text.split("\n").filter((line) => line.length > width && line.trim().includes(" "));
      assert.deepEqual(long, [], `${command.name} at ${width}`);
    }
    const text = commandHelp(command, 80);
    for (const { key, forms } of fieldsOf(command.options)) {
      if (command.places?.includes(key)) continue;
      for (const inner of forms.flatMap(({ keys }) => keys)) assert.ok(text.includes(inner.key), inner.key);
    }
  }
  const titles = commandHelp(commands.find(({ name }) => name === "train") as Command, 80).match(/^\S.*:$/gm);
  assert.ok(titles?.includes("Search:") && titles.includes("Agent:") && titles.includes("Run:"));
});

test("help is written in sentences", () => {
  for (const command of commands) {
    const text = commandHelp(command, 10_000);
    for (const { key, help } of fieldsOf(command.options)) {
      const line = text.split("\n").find((each) => each.includes(help.slice(1)));
      assert.doesNotMatch(
        line ?? "",
        /[a-z})] (One of|May be repeated|Separated by)/,
        `${command.name} ${key}`,
      );
    }
  }
});

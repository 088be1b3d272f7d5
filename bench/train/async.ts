/**
 * How many steps an hour does reinforcement learning take when some searches are slow, with rollouts ahead of their step and
 * without, and does it learn as much?
 *
 * `node dist/bench/train/async.js [--staleness 0,1,2] [--seeds 0,1,2] [--steps 16] [--queries multi] [--slow 0.1] [--slowMs 300]
 * [--correction tis] [--oldLogprobs trainer] [--threads 1] [--questions 48] [--test 500] [--miniBatches N]
 * [--algorithm rloo] [--samples 2] [--learningRate RATE]`; the peer is staleness 0.
 * The built-in world's model that imitates a hasty teacher is trained by its own recipe. A share of the searches, the same ones in
 * every run, answers late. Runs of a seed follow one another, in another order each seed.
 */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { parseArgs } from "node:util";
import { evaluateHeldOut } from "../../apps/world/demo/held-out.ts";
import { openWorld } from "../../apps/world/demo/world-search.ts";
import { patchyWorldRecipe } from "../../apps/world/recipes/patchy-world.ts";
import { native } from "../../lib/base/addon/native.ts";
import { packageRoot } from "../../lib/base/package-root.ts";
import { openLocalPolicy } from "../../lib/engine/local-policy.ts";
import { agentPartsOf, trainingOf } from "../../lib/recipes/plan.ts";
import { optimiserOf, type Recipe } from "../../lib/recipes/recipe.ts";
import type { Search } from "../../lib/search/search.ts";
import { type Algorithm, algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { openLearners } from "../../lib/train/open-learners.ts";
import { rl } from "../../lib/train/rl.ts";
import type { RlMetrics } from "../../lib/train/rl-options.ts";

const { values } = parseArgs({
  options: {
    staleness: { type: "string", default: "0,1,2" },
    seeds: { type: "string", default: "0,1,2" },
    steps: { type: "string", default: "16" },
    queries: { type: "string", default: "multi" },
    slow: { type: "string", default: "0.1" },
    slowMs: { type: "string", default: "300" },
    correction: { type: "string" },
    oldLogprobs: { type: "string" },
    threads: { type: "string", default: "1" },
    questions: { type: "string", default: "48" },
    test: { type: "string", default: "500" },
    miniBatches: { type: "string" },
    algorithm: { type: "string" },
    samples: { type: "string", default: "2" },
    learningRate: { type: "string" },
  },
});
const numbers = (text: string): number[] => text.split(",").map(Number);
const [slow, slowMs, steps] = [Number(values.slow), Number(values.slowMs), Number(values.steps)];
const queries = values.queries === "single" ? "single" : "multi";

/** The same searches are late in every run. */
function late(search: Search): Search {
  return async (asked, options) => {
    const draw = createHash("sha256").update(asked.join("\n")).digest().readUInt32LE() / 2 ** 32;
    if (draw < slow) await pause(slowMs, undefined, { signal: options?.signal });
    return search(asked, options);
  };
}

/** Only what differs from the recipe, so that the program also runs where an option is not known. */
function given(staleness: number) {
  const { correction, oldLogprobs, miniBatches, algorithm } = values;
  return {
    algorithm: {
      ...(algorithm !== undefined && algorithms[algorithm as keyof typeof algorithms]),
      ...(correction && { correction: { by: correction } }),
      ...(miniBatches && { miniBatches: Number(miniBatches) }),
    },
    batch: { ...(staleness > 0 && { staleness, ...(oldLogprobs && { oldLogprobs }) }) },
  } as object as { algorithm: Algorithm; batch: object };
}

/** The recipe of the world with what the command line says of it. */
function recipeWith(algorithm: Algorithm): Recipe {
  const base = patchyWorldRecipe({ queries });
  return {
    ...base,
    algorithm: values.algorithm === undefined ? { ...base.algorithm, ...algorithm } : algorithm,
    training: {
      ...base.training,
      steps,
      batchQuestions: Number(values.questions),
      samples: Number(values.samples),
      ...(values.learningRate && { learningRate: Number(values.learningRate) }),
    },
  };
}

const promptLookup = true;

async function run(seed: number, staleness: number) {
  const out = await mkdtemp(join(tmpdir(), "seekrl-async-"));
  try {
    using opened = await openWorld(out, { seed });
    const { algorithm, batch } = given(staleness);
    const recipe = recipeWith(algorithm);
    const model = join(packageRoot, "world", "hasty");
    await using policy = await openLocalPolicy({ model }, { seed, promptLookup });
    await native().setNumThreads(Number(values.threads));
    const parts = agentPartsOf(policy, recipe, late(opened.search));
    await using learners = await openLearners(policy.policy, recipe.algorithm, optimiserOf(recipe.training));
    const planned = trainingOf(recipe, parts, opened.world.questions.train);
    const logged: RlMetrics[] = [];
    const [started, before] = [performance.now(), process.cpuUsage()];
    await rl({
      ...planned,
      batch: { ...planned.batch, ...batch },
      ...{ learners: learners.learners, seed, collapse: { action: "ignore" } },
      onStep: (metrics) => void logged.push(metrics),
    });
    const seconds = (performance.now() - started) / 1000;
    const { user, system } = process.cpuUsage(before);
    await policy.policy.save(out);
    const bytes = await readFile(join(out, "model.safetensors"));
    const questions = opened.world.questions.test.slice(0, Number(values.test));
    const plain = agentPartsOf(policy, recipe, opened.search);
    const { em } = await evaluateHeldOut(questions, plain, { reward: recipe.reward, seed });
    const sum = (name: string): number => logged.reduce((all, metrics) => all + (metrics[name] ?? 0), 0);
    return {
      ...{ promptLookup, seed, staleness, seconds, stepsPerHour: (steps * 3600) / seconds },
      processorSeconds: (user + system) / 1e6,
      ...{ rollout: sum("seconds/rollout"), train: sum("seconds/train"), em },
      ...{ stale: sum("staleness/mean") / steps, ratio: sum("correction/ratio") / steps },
      truncated: sum("correction/share") / steps,
      digest: createHash("sha256").update(bytes).digest("hex").slice(0, 16),
    };
  } finally {
    await rm(out, { recursive: true });
  }
}

const arms = numbers(values.staleness);
for (const [i, seed] of numbers(values.seeds).entries()) {
  const turn = i % arms.length;
  for (const staleness of [...arms.slice(turn), ...arms.slice(0, turn)]) {
    console.log(JSON.stringify(await run(seed, staleness)));
  }
}

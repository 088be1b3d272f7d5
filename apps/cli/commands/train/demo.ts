/** `seekrl demo`: the whole loop on the built-in world, for our own recipe or a published one. */
import { join } from "node:path";
import { z } from "zod";
import type { DemoStage } from "../../../demo/recipe-demo.ts";
import type { RecipeFigures, RecipeSummary } from "../../../demo/recipe-report.ts";
import { formatLearning, worldSizes } from "../../../world/recipes/world-training.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { flagName } from "../../flags.ts";
import { modelOptions } from "../../options/model-options.ts";
import { chooseRecipe, type RecipeOptions, recipeOptions } from "../../options/recipe-options.ts";
import { tableOf } from "../../report/table.ts";

const { recipe, queries, rewardVariant, formatReward, fewSearches, faithful } = recipeOptions;
const { selfSearch, accuracy, tagPoints, sequenceReward } = recipeOptions;
const choices = {
  ...{ queries, stage: recipeOptions.stage, rewardVariant, formatReward, fewSearches, faithful },
  ...{ selfSearch, accuracy, tagPoints, sequenceReward },
};

const options = z.strictObject({
  recipe: recipe
    .unwrap()
    .optional()
    .describe("trains this one, after it has learnt its tags; else both modes of world"),
  ...choices,
  stage: choices.stage.describe("of r1-searcher: auto, unless given, trains stage 1, then stage 2"),
  algorithm: z.enum(["ppo", "grpo"]).optional().describe("of search-r1"),
  quick: z.boolean().default(false).describe("a few steps only: shows that everything works"),
  fromScratch: z.boolean().default(false).describe("trains the start model too, by SFT; without --recipe"),
  seed: z.int().min(0).default(0).describe("of the world, the questions' order and every sampled token"),
  device: modelOptions.device,
  out: z
    .string()
    .optional()
    .describe("folder for logs, models and summary.json (runs/demo, and below it by recipe)"),
});

type Options = z.output<typeof options>;

/** The command. */
export const demoCommand = command({
  name: "demo",
  summary: "trains a small search agent by reinforcement learning and shows what it gained",
  goesOn: "from the last finished step",
  options,
  run: (given, io) => {
    refuseIdle(given);
    const { recipe: name } = given;
    return name === undefined ? showBothModes(given, io) : trainRecipe({ ...given, recipe: name }, io);
  },
});

// Everything native is loaded where it is needed: help and usage errors work without it.
async function showBothModes(given: Options, io: CommandIo): Promise<void> {
  const { runDemo } = await import("../../../demo/demo.ts");
  const { seed, quick, fromScratch, device, out = "runs/demo" } = given;
  const { summary, table, curves, traces, ask } = await runDemo({
    ...{ seed, quick, fromScratch, device, out },
    ...{ onLine: io.log, signal: io.signal },
  });
  for (const [title, trace] of traces) io.write(`\n--- ${title}\n${trace}\n`);
  io.write(`\nMean reward by step, from 0 to 1 (${join(out, "reward.svg")}):\n${curves}\n`);
  io.write(`\n${table}\n`);
  io.write(`\nAsk the trained model:\n  ${ask}\n`);
  io.result(summary);
}

type Given = Options & { readonly recipe: RecipeOptions["recipe"] };

async function trainRecipe(given: Given, io: CommandIo): Promise<void> {
  const stages = stagesOf(given);
  const { runRecipeDemo } = await import("../../../demo/recipe-demo.ts");
  const { seed, quick, device } = given;
  const summary = await runRecipeDemo({
    ...{ seed, quick, device, stages, start: formatLearning[given.recipe] },
    out: given.out ?? join("runs/demo", folderName(given)),
    ...{ onLine: io.log, signal: io.signal },
  });
  io.write(`\n${summary.questions} held-out questions, greedily\n${summaryTable(summary)}`);
  io.result(summary);
}

function folderName({ recipe: name, queries: mode, algorithm }: Given): string {
  return [name, mode, algorithm].filter((part) => part !== undefined).join("-");
}

/** When R1-Searcher's first stage has done its work. */
const untilSearchShare = 0.9;

function stagesOf(given: Given): DemoStage[] {
  const { recipe: name, algorithm, stage = "auto" } = given;
  if (name !== "r1-searcher") {
    const sizes = name === "search-r1" && algorithm === "grpo" ? "search-r1 grpo" : name;
    return [{ name: "rl", recipe: choose(given), sizes: worldSizes[sizes] }];
  }
  const answering = (only: "2" | "zero"): DemoStage => ({
    ...{ name: `stage-${only}`, recipe: choose({ ...given, stage: only }) },
    sizes: worldSizes["r1-searcher 2"],
  });
  const searching: DemoStage = {
    ...{ name: "stage-1", recipe: choose({ ...given, stage: "1" }) },
    ...{ sizes: worldSizes["r1-searcher 1"], untilSearchShare },
  };
  if (stage === "auto") return [searching, answering("2")];
  return [stage === "1" ? searching : answering(stage)];
}

const noWording = {
  ...{ template: undefined, promptFile: undefined, language: undefined, queryStyle: undefined },
  memoryOnly: false,
} as const;

function choose({ algorithm, ...given }: Given): ReturnType<typeof chooseRecipe> {
  return chooseRecipe(
    { ...given, ...noWording, worldPrompt: given.recipe === "agentic-rag-r1" },
    { algorithm },
  );
}

/** An option that would change nothing is a mistake. */
function refuseIdle(given: Options): void {
  const { recipe: name } = given;
  const isGiven = (key: keyof Options): boolean => given[key] !== undefined && given[key] !== false;
  const idle = ([...Object.keys(choices), "algorithm"] as (keyof Options)[]).find(isGiven);
  if (name === undefined && idle !== undefined)
    throw new UsageError(`${flagName(idle)}: expected with --recipe`);
  if (name !== undefined && given.fromScratch)
    throw new UsageError("--from-scratch: expected without --recipe");
  if (name !== "search-r1" && given.algorithm !== undefined) {
    throw new UsageError(`--algorithm: the recipe ${name} has one algorithm; search-r1 has two`);
  }
}

function summaryTable({ stages, control }: RecipeSummary): string {
  const head = ["", "", "steps", "reward", "EM %", "F1 %", "searched %", "rounds", "invalid", "ms/question"];
  const row = (names: readonly [string, string, string], figures: RecipeFigures): string[] => {
    const { reward, em, f1, searchShare, rounds, invalidActions, secondsPerQuestion } = figures;
    const shares = [em, f1, searchShare].map((share) => (100 * share).toFixed(1));
    const means = [rounds, invalidActions].map((mean) => mean.toFixed(2));
    return [...names, reward.toFixed(3), ...shares, ...means, (1000 * secondsPerQuestion).toFixed(1)];
  };
  const rows = stages.flatMap(({ stage, steps, before, after }) => [
    row([stage, "before", ""], before),
    row(["", "after", String(steps)], after),
  ]);
  if (control) rows.push(row(["control", `${control.samples} more demonstrations`, ""], control));
  return tableOf([head, ...rows], (column) => column < 2);
}

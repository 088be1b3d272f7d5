/** `seekrl demo`: the whole loop on the built-in world, for our own recipe or a published one. */
import { join } from "node:path";
import { z } from "zod";
import type { RecipeFigures, RecipeSummary } from "../../../world/demo/report/recipe-report.ts";
import { formatLearning } from "../../../world/recipes/world-training.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { stagesOnWorld } from "../../open/world-stages.ts";
import { loraOf, loraOption } from "../../options/lora-options.ts";
import { modelOptions } from "../../options/model-options.ts";
import { type RecipeChoice, recipeSchema } from "../../options/recipe-options.ts";
import { tableOf } from "../../report/table.ts";
import { openLiveStudio } from "../studio/live-studio.ts";

const options = z.strictObject({
  recipe: recipeSchema.optional().meta({
    head: "name",
    description: "trains this one, after it has learnt its tags; else the demo's own, in both modes",
  }),
  quick: z.boolean().default(false).describe("a few steps only: shows that everything works"),
  compare: z
    .boolean()
    .default(false)
    .describe("sets a thorough teacher's demonstrations beside RL; without --recipe"),
  fromScratch: z.boolean().default(false).describe("trains the start model too, by SFT; without --recipe"),
  seed: z.int().min(0).default(0).describe("of the world, the questions' order and every sampled token"),
  lora: loraOption,
  device: modelOptions.device,
  studio: z.boolean().default(false).describe("serves a page that shows it while it trains, on this machine"),
  out: z
    .string()
    .optional()
    .describe(
      "folder for logs, models and summary.json (runs/demo, or runs/demo-quick, runs/demo-seed-1; below it by recipe)",
    ),
});

type Options = z.output<typeof options>;
type Given = Options & { readonly out: string };

/** Where a demo stands unless another folder is given: one of another seed or size overwrites nothing. */
function usualFolder({ recipe, seed, quick }: Options): string {
  const folder = `runs/demo${quick ? "-quick" : ""}${seed === 0 ? "" : `-seed-${seed}`}`;
  return recipe === undefined ? folder : join(folder, folderName(recipe));
}

/** The command. */
export const demoCommand = command({
  name: "demo",
  summary: "trains a small search agent by reinforcement learning and shows what it gained",
  goesOn: "from the last finished step",
  options,
  run: async (given, io) => {
    refuseIdle(given);
    const { recipe, out = usualFolder(given) } = given;
    await using _studio = await openLiveStudio(given.studio, out, io);
    await (recipe === undefined
      ? showBothModes({ ...given, out }, io)
      : trainRecipe({ ...given, out, recipe }, io));
  },
});

// Everything native is loaded where it is needed: help and usage errors work without it.
async function showBothModes(given: Given, io: CommandIo): Promise<void> {
  const { runDemo } = await import("../../../world/demo/demo.ts");
  const { seed, quick, compare, fromScratch, device, out } = given;
  const { summary, table, curves, traces, ask } = await runDemo({
    ...{ seed, quick, compare, fromScratch, device, out },
    lora: loraOf(given.lora),
    ...{ onLine: io.log, signal: io.signal },
  });
  for (const [title, trace] of traces) io.write(`\n--- ${title}\n${trace}\n`);
  io.write(`\nMean reward by step, from 0 to 1 (${join(out, "reward.svg")}):\n${curves}\n`);
  io.write(`\n${table}\n`);
  io.write(`\nAsk the trained model:\n  ${ask}\n`);
  io.result(summary);
}

async function trainRecipe(given: Given & { readonly recipe: RecipeChoice }, io: CommandIo): Promise<void> {
  const stages = stagesOnWorld(given.recipe);
  const { runRecipeDemo } = await import("../../../world/demo/recipe-demo.ts");
  const { seed, quick, device, recipe, out } = given;
  const { summary, ask } = await runRecipeDemo({
    ...{ out, seed, quick, device, stages, choice: recipe, start: formatLearning[recipe.name] },
    lora: loraOf(given.lora),
    ...{ onLine: io.log, signal: io.signal },
  });
  io.write(`\n${summary.questions} held-out questions, greedily\n${summaryTable(summary)}`);
  io.write(`\nAsk the trained model:\n  ${ask}\n`);
  io.result(summary);
}

function folderName(choice: RecipeChoice): string {
  const isSingle = "queries" in choice && choice.queries === "single";
  const algorithm = choice.name === "search-r1" ? choice.algorithm : undefined;
  return [choice.name, isSingle ? "single" : undefined, algorithm]
    .filter((part) => part !== undefined && part !== "ppo")
    .join("-");
}

/** An option that would change nothing is a mistake: the built-in world has words of its own. */
function refuseIdle({ recipe, fromScratch, compare }: Options): void {
  if (recipe === undefined) return;
  if (compare) throw new UsageError("--compare: expected without --recipe");
  if (fromScratch) throw new UsageError("--from-scratch: expected without --recipe");
  const given: Readonly<Record<string, unknown>> = recipe;
  const usual: Readonly<Record<string, unknown>> = recipeSchema.parse({ name: recipe.name });
  const wording = ["template", "promptFile", "language", "queryStyle", "memoryOnly", "worldPrompt"];
  const idle = wording.find((key) => given[key] !== usual[key]);
  if (idle !== undefined)
    throw new UsageError(`--recipe: ${idle}: expected elsewhere, the demo has its own words`);
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

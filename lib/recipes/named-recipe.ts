/** From a recipe's name and choices, as they stand in a file, to the recipe. */
import { SeekError } from "../base/errors.ts";
import { readTextSync } from "../base/files/regular-file.ts";
import type { Reward } from "../reward/reward.ts";
import type { R1SearcherStage } from "../reward/systems/r1-searcher.ts";
import { defaultMemory, type Memory } from "../rollout/memory.ts";
import type { ToolBox } from "../rollout/tools/tool-box.ts";
import { type AgenticOptions, agenticRagR1 } from "./agentic-rag-r1.ts";
import type { ChosenRecipe } from "./choices.ts";
import { r1Searcher } from "./r1-searcher.ts";
import { ragR1 } from "./rag-r1.ts";
import { reSearch } from "./re-search.ts";
import type { Recipe } from "./recipe.ts";
import { searchR1 } from "./search-r1.ts";

/** What a recipe is made of besides data. */
export interface RecipeParts {
  /** Of research and agentic-rag-r1: what is called instead of a search. */
  readonly tools?: ToolBox;
  /** Of agentic-rag-r1: rewards of one's own, such as a judge's, in place of its accuracy and beside it. */
  readonly judge?: { readonly accuracy: Reward; readonly relevance?: Reward };
}

/**
 * The recipe of a name and its choices, as a file or a command line gives them.
 *
 * @param choice - checked by `recipeChoices`; `stage: "auto"` is the second stage
 * @param parts - tools and rewards, which are no data
 * @throws ERR_ARGUMENT for choices that exclude each other; ERR_IO when a prompt's file cannot be read
 */
export function recipeOfChoice(choice: ChosenRecipe, { tools, judge }: RecipeParts = {}): Recipe {
  switch (choice.name) {
    case "rag-r1":
      return ragR1({ queries: choice.queries, faithful: choice.faithful });
    case "search-r1": {
      const { name: _, formatReward, ...options } = choice;
      return searchR1({ ...options, format: formatReward || undefined });
    }
    case "research": {
      const { name: _, promptFile, ...options } = choice;
      return reSearch({ ...options, templateText: readPrompt(promptFile), tools });
    }
    case "r1-searcher": {
      const { name: _, searchShare: __, stage, ...options } = choice;
      return r1Searcher({ ...options, stage: stageOf(stage) });
    }
    case "agentic-rag-r1":
      return agenticRagR1({ ...agenticOptions(choice, judge), box: tools });
  }
}

function stageOf(stage: Extract<ChosenRecipe, { readonly name: "r1-searcher" }>["stage"]): R1SearcherStage {
  return stage === undefined || stage === "auto" ? 2 : stage;
}

/** Agentic-RAG-R1's options from its choices. */
export function agenticOptions(
  { name: _, promptFile, stateValue, sigma, minActions, queries, ...choice }: Agentic,
  judge?: RecipeParts["judge"],
): AgenticOptions {
  return {
    ...choice,
    ...judge,
    promptText: readPrompt(promptFile),
    maxQueries: queries === "single" ? 1 : undefined,
    memory: memoryOf({ stateValue, sigma, minActions }, choice.faithful),
  };
}

type Agentic = Extract<ChosenRecipe, { readonly name: "agentic-rag-r1" }>;

/** Rules of the memory stack, where some are given. */
function memoryOf(
  given: Pick<Agentic, "stateValue" | "sigma" | "minActions">,
  faithful: boolean,
): Memory | undefined {
  const { stateValue = "none", sigma = defaultMemory.sigma, minActions = defaultMemory.minActions } = given;
  const [named] = Object.entries(given).find(([, value]) => value !== undefined) ?? [];
  if (named === undefined) return undefined;
  if (faithful)
    throw new SeekError("ERR_ARGUMENT", `${named}: expected without faithful, which forgets nothing`);
  if (given.sigma !== undefined && stateValue === "none") {
    throw new SeekError("ERR_ARGUMENT", "sigma: expected only with stateValue entropy or cppl");
  }
  return { ...defaultMemory, stateValue, sigma, minActions };
}

function readPrompt(path: string | undefined): string | undefined {
  return path === undefined ? undefined : readTextSync(path);
}

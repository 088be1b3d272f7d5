/** Options that choose a recipe, and the recipe they describe. */
import { readFileSync } from "node:fs";
import { z } from "zod";
import { SeekError } from "../../../lib/base/errors.ts";
import { agenticRagR1 } from "../../../lib/recipes/agentic-rag-r1.ts";
import { rSearcher } from "../../../lib/recipes/r1-searcher.ts";
import { ragR1 } from "../../../lib/recipes/rag-r1.ts";
import { reSearch } from "../../../lib/recipes/re-search.ts";
import type { Recipe } from "../../../lib/recipes/recipe.ts";
import { searchR1 } from "../../../lib/recipes/search-r1.ts";
import { defaultMemory, type Memory } from "../../../lib/rollout/memory.ts";
import type { ToolBox } from "../../../lib/tools/tool-box.ts";
import { agenticWorldRecipe } from "../../world/recipes/agentic-world.ts";
import { memoryOnly } from "../../world/recipes/memory-only.ts";
import { withWorldPrompt, worldRecipe } from "../../world/recipes/world.ts";
import { UsageError } from "../command.ts";
import { flagName } from "../flags.ts";
import type { JudgeRewards } from "./judge-rewards.ts";

/** The recipe's name and what some recipes let one choose. */
export const recipeOptions = {
  recipe: z
    .enum(["rag-r1", "search-r1", "research", "r1-searcher", "agentic-rag-r1", "world"])
    .default("rag-r1")
    .describe("prompt, tags, limits, reward and algorithm"),
  queries: z
    .enum(["single", "multi"])
    .optional()
    .describe("of rag-r1, agentic-rag-r1 and world: one query a turn, or several in parallel (the default)"),
  stage: z
    .enum(["1", "2", "zero", "auto"])
    .optional()
    .describe("of r1-searcher; auto trains stage 1, then stage 2 (2 unless given)"),
  template: z
    .enum(["base", "instruct"])
    .optional()
    .describe("of research and r1-searcher: the prompt of base or of instruct models"),
  promptFile: z
    .string()
    .optional()
    .describe("of research and agentic-rag-r1: a file that replaces our wording"),
  rewardVariant: z.enum(["paper", "code"]).optional().describe("of research and r1-searcher"),
  formatReward: z.boolean().default(false).describe("of search-r1: pays for form as well"),
  fewSearches: z
    .boolean()
    .default(false)
    .describe("of r1-searcher: a bonus for right answers with few searches"),
  language: z.enum(["en", "zh"]).optional().describe("of agentic-rag-r1: of the instructions and replies"),
  selfSearch: z
    .boolean()
    .default(false)
    .describe("of agentic-rag-r1: observations are written by the model, from memory"),
  accuracy: z
    .enum(["em", "f1", "option"])
    .optional()
    .describe("of agentic-rag-r1: what an answer is compared by; option is the letter of a choice"),
  sequenceReward: z
    .boolean()
    .default(false)
    .describe("of agentic-rag-r1: points for form fall on whole trajectories, not on tokens"),
  tagPoints: z.boolean().default(false).describe("of agentic-rag-r1: the original's points for form, by tag"),
  stateValue: z
    .enum(["entropy", "cppl", "none"])
    .optional()
    .describe("of agentic-rag-r1: how uncertain an answer is (none unless given: every answer counts)"),
  sigma: z
    .number()
    .gt(0)
    .optional()
    .describe("with --state-value: uncertainty from which on an answer becomes a thought (1.2 unless given)"),
  minActions: z.int().min(0).optional().describe("of agentic-rag-r1: actions before an answer counts"),
  queryStyle: z
    .enum(["triple", "subquestions", "keywords", "judgement"])
    .optional()
    .describe("of r1-searcher: what the prompt says of queries and questions (triple unless given)"),
  memoryOnly: z
    .boolean()
    .default(false)
    .describe("of search-r1 and rag-r1: reasons and answers from memory, without a search, for comparison"),
  worldPrompt: z
    .boolean()
    .default(false)
    .describe("asks as the built-in world does, for models that know only its prompt"),
  faithful: z.boolean().default(false).describe("with the original's quirks; all but world"),
};

const schema = z.object(recipeOptions);

/** No choice at all: for commands that offer some of them. */
export const noChoices = {
  ...{ formatReward: false, fewSearches: false, selfSearch: false, tagPoints: false },
  ...{ sequenceReward: false, memoryOnly: false, worldPrompt: false, faithful: false },
} as const;

/** What the options say. */
export type RecipeOptions = z.output<typeof schema>;

/** What a recipe is made of besides its options. */
export interface RecipeParts {
  /** The algorithm that was asked for; Search-R1 has sizes of its own for `grpo`. */
  readonly algorithm?: string | undefined;
  /** Of research and agentic-rag-r1: what is called instead of a search. */
  readonly tools?: ToolBox | undefined;
  /** Judges answers: of agentic-rag-r1 in place of its accuracy, of others in place of the whole reward. */
  readonly judge?: JudgeRewards | undefined;
}

type Name = RecipeOptions["recipe"];
type Choice = Exclude<keyof RecipeOptions, "recipe">;

const choicesOf: Readonly<Record<Name, readonly Choice[]>> = {
  "rag-r1": ["queries", "memoryOnly", "worldPrompt", "faithful"],
  "search-r1": ["formatReward", "memoryOnly", "worldPrompt", "faithful"],
  research: ["template", "promptFile", "rewardVariant", "worldPrompt", "faithful"],
  "r1-searcher": [
    "stage",
    "template",
    "queryStyle",
    "rewardVariant",
    "fewSearches",
    "worldPrompt",
    "faithful",
  ],
  "agentic-rag-r1": [
    ...([
      "queries",
      "promptFile",
      "language",
      "selfSearch",
      "accuracy",
      "tagPoints",
      "sequenceReward",
      "stateValue",
      "sigma",
      "minActions",
    ] as const),
    ...(["worldPrompt", "faithful"] as const),
  ],
  world: ["queries"],
};

/**
 * The recipe that was chosen.
 *
 * @param options - the name, and what it lets one choose
 * @param parts - what it is made of besides
 * @returns the recipe
 * @throws UsageError when an option is given that the recipe does not have
 */
export function chooseRecipe(options: RecipeOptions, parts: RecipeParts = {}): Recipe {
  refuseForeign(options);
  if (options.memoryOnly && options.worldPrompt) {
    throw new UsageError("--memory-only: expected without --world-prompt, which asks to search");
  }
  const named = namedRecipe(options, parts);
  const scored = isJudgedWhole(options, parts) ? { ...named, reward: parts.judge.accuracy } : named;
  const recipe = options.memoryOnly ? memoryOnly(scored) : scored;
  return options.worldPrompt ? withWorldPrompt(recipe) : recipe;
}

function isJudgedWhole(
  { recipe, accuracy }: RecipeOptions,
  parts: RecipeParts,
): parts is RecipeParts & { readonly judge: JudgeRewards } {
  const { judge } = parts;
  if (judge !== undefined && accuracy !== undefined) {
    throw new UsageError("--accuracy: expected without --judge-url, which judges answers");
  }
  if (judge?.relevance !== undefined && recipe !== "agentic-rag-r1") {
    throw new UsageError(`--relevance: the recipe ${recipe} has no such part; agentic-rag-r1 has`);
  }
  return judge !== undefined && recipe !== "agentic-rag-r1";
}

function namedRecipe(options: RecipeOptions, { algorithm, tools, judge }: RecipeParts): Recipe {
  const { recipe, queries = "multi", faithful, template, rewardVariant: variant } = options;
  const common = { faithful, template, variant };
  switch (recipe) {
    case "world":
      return worldRecipe({ queries });
    case "rag-r1":
      return ragR1({ queries, faithful });
    case "search-r1": {
      const format = options.formatReward ? { format: true as const } : {};
      return searchR1({ faithful, ...format, algorithm: algorithm === "grpo" ? "grpo" : "ppo" });
    }
    case "research":
      return reSearch({ ...common, ...readTemplate(options.promptFile), tools });
    case "r1-searcher":
      return rSearcher({
        ...{ ...common, stage: stageOf(options.stage), fewSearches: options.fewSearches },
        queryStyle: options.queryStyle,
      });
    case "agentic-rag-r1":
      return agenticRecipe(options, tools, judge);
  }
}

function agenticRecipe(
  options: RecipeOptions,
  box: ToolBox | undefined,
  judge: JudgeRewards | undefined,
): Recipe {
  const { language, accuracy, selfSearch, faithful, queries, worldPrompt } = options;
  const { templateText: promptText } = readTemplate(options.promptFile);
  const chosen = {
    ...{ selfSearch, faithful, tokenLevel: !options.sequenceReward },
    language,
    accuracy,
    ...memoryOf(options),
    ...(options.tagPoints ? { form: "points" as const } : {}),
    promptText,
    box,
    ...judge,
  };
  if (worldPrompt) return agenticWorldRecipe(chosen);
  return agenticRagR1({ ...chosen, ...(queries === "single" ? { maxQueries: 1 } : {}) });
}

/** Rules of the memory stack, where some are given. */
function memoryOf({ stateValue, sigma, minActions, faithful }: RecipeOptions): { memory?: Memory } {
  const given = { stateValue, sigma, minActions };
  const named = (Object.keys(given) as (keyof typeof given)[]).find((key) => given[key] !== undefined);
  if (named === undefined) return {};
  if (faithful)
    throw new UsageError(`${flagName(named)}: expected without --faithful, which forgets nothing`);
  if (sigma !== undefined && (stateValue ?? "none") === "none") {
    throw new UsageError("--sigma: expected only with --state-value entropy or cppl");
  }
  const { sigma: usual, minActions: least } = defaultMemory;
  const rules = { stateValue: stateValue ?? "none", sigma: sigma ?? usual, minActions: minActions ?? least };
  return { memory: { ...defaultMemory, ...rules } };
}

function stageOf(stage: RecipeOptions["stage"] = "2"): 1 | 2 | "zero" {
  if (stage === "zero") return stage;
  return stage === "1" ? 1 : 2;
}

function refuseForeign(options: RecipeOptions): void {
  const given = Object.keys(recipeOptions).filter((key) => key !== "recipe") as Choice[];
  const known = choicesOf[options.recipe];
  for (const key of given) {
    if (options[key] === undefined || options[key] === false || known.includes(key)) continue;
    const flags = known.map(flagName).join(", ");
    throw new UsageError(
      `${flagName(key)}: the recipe ${options.recipe} has no such choice; it has ${flags}`,
    );
  }
}

function readTemplate(path: string | undefined): { templateText?: string } {
  if (path === undefined) return {};
  try {
    return { templateText: readFileSync(path, "utf8") };
  } catch (cause) {
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${(cause as Error).message}`, { cause });
  }
}

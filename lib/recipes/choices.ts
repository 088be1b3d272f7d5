/** What each published recipe lets one choose, as data: the one description behind checks, help and documentation. */
import { z } from "zod";

const faithful = z
  .boolean()
  .default(false)
  .describe("Keeps the original's quirks, as far as the laws allow.");
const template = z.enum(["base", "instruct"]).optional();
const variant = z.enum(["paper", "code"]).optional();
const promptFile = z.string().min(1).optional();
const queries = z
  .enum(["single", "multi"])
  .default("multi")
  .describe("One query a turn, or several in parallel.");

/** The choices of each published recipe. */
export const recipeChoices = {
  "rag-r1": z
    .strictObject({ name: z.literal("rag-r1"), queries, faithful })
    .describe("Thinks, searches with one query or up to three, answers; exact match, PPO."),
  "search-r1": z
    .strictObject({
      name: z.literal("search-r1"),
      algorithm: z.enum(["ppo", "grpo"]).default("ppo").describe("PPO, or GRPO with five rollouts."),
      formatReward: z.boolean().default(false).describe("Pays for form as well."),
      faithful,
    })
    .describe("Thinks, searches with one query, answers; exact match."),
  research: z
    .strictObject({
      name: z.literal("research"),
      template: template.describe('The prompt of base or of instruct models ("instruct").'),
      promptFile: promptFile.describe("A file that replaces our wording of the prompt."),
      variant: variant.describe('Whether form is needed for any reward, as in the code ("code").'),
      faithful,
    })
    .describe("Thinks, searches, answers in a box; F1, GRPO. With tools it is ReCall."),
  "r1-searcher": z
    .strictObject({
      name: z.literal("r1-searcher"),
      stage: z
        .literal([1, 2, "zero", "auto"])
        .optional()
        .describe("1 rewards searching, 2 the answer; zero is for base models; auto trains 1, then 2 (2)."),
      searchShare: z
        .number()
        .gt(0)
        .lte(1)
        .default(0.9)
        .describe("With stage auto: share of rollouts that search at which stage 1 ends."),
      template: template.describe('The prompt of base or of instruct models ("base" for stage zero).'),
      queryStyle: z
        .enum(["triple", "subquestions", "keywords", "judgement"])
        .default("triple")
        .describe("What the prompt says of queries and questions."),
      variant: variant.describe('The reward of the paper or of its code ("code" when faithful).'),
      fewSearches: z
        .boolean()
        .default(false)
        .describe("Adds a bonus for right answers with few searches (R1-Searcher++)."),
      faithful,
    })
    .describe("Searches inside of one thought; rewards by stage; GRPO, then REINFORCE++."),
  "agentic-rag-r1": z
    .strictObject({
      name: z.literal("agentic-rag-r1"),
      queries,
      accuracy: z
        .enum(["em", "f1", "option"])
        .optional()
        .describe('What an answer is compared by; option is the letter of a choice ("em").'),
      form: z
        .enum(["ordered", "points"])
        .optional()
        .describe('Pays for the order of actions, or for each tag ("points" when faithful).'),
      tokenLevel: z.boolean().default(true).describe("Points for form fall on tokens, or on the whole."),
      language: z.enum(["en", "zh"]).default("en").describe("Of the instructions and replies."),
      promptFile: promptFile.describe("A file that replaces our wording of the prompt."),
      selfSearch: z.boolean().default(false).describe("The model writes observations itself, from memory."),
      stateValue: z
        .enum(["entropy", "cppl", "none"])
        .optional()
        .describe('How the uncertainty of an answer is measured ("none": every answer counts).'),
      sigma: z
        .number()
        .gt(0)
        .optional()
        .describe("With stateValue: uncertainty from which on an answer becomes a thought (1.2)."),
      minActions: z.int().min(0).optional().describe("Actions that come before an answer counts (0)."),
      faithful,
    })
    .describe("Plans, reasons, searches with tools, takes back, sums up; accuracy and form, GRPO."),
} as const;

/** A published recipe by its name and its choices, defaults filled in. */
export type ChosenRecipe = z.output<(typeof recipeChoices)[keyof typeof recipeChoices]>;

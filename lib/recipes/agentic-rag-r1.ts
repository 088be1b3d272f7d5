/** Agentic-RAG-R1: plan, reason, search with tools, take back, sum up, answer, over a memory stack; trained by GRPO. */
import { checkArgument, checkOptions, type OptionKinds } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { f1Reward, type Reward, type RewardPart, weightedReward } from "../reward/reward.ts";
import {
  agenticAccuracyReward,
  agenticFormatReward,
  agenticFormReward,
  optionReward,
} from "../reward/systems/agentic-rag.ts";
import { agenticFormTokens, agenticPointTokens } from "../reward/systems/agentic-tokens.ts";
import { type AgenticFormatOptions, agenticFormat } from "../rollout/formats/agentic-rag.ts";
import { bracketTools, parseBracketCall } from "../rollout/tools/bracket-calls.ts";
import type { ToolBox } from "../rollout/tools/tool-box.ts";
import type { Recipe } from "./recipe.ts";

/** What an answer is compared by: exact match, word F1, the letter of an option, or a reward of one's own. */
export type AgenticAccuracy = "em" | "f1" | "option" | Reward;

/** Options of the recipe. */
export interface AgenticOptions extends Omit<AgenticFormatOptions, "faithful"> {
  /** The original asks a judge: `judgeReward(chat)`. Worth 3 times what it gives, 0 to 1. @default "em" */
  readonly accuracy?: AgenticAccuracy;
  /** Ours, which no action earns by merely being there, or the original's points for each tag. @default "ordered" */
  readonly form?: "ordered" | "points";
  /** Whether what was found is to the point: `relevanceReward(chat)`. @default none */
  readonly relevance?: Reward;
  /** Its tools run what a search asks for, `[Name] text`, and the prompt lists them. @default the agent's search */
  readonly box?: ToolBox;
  /** Whether points for form fall on the tokens that earned or lost them. @default true */
  readonly tokenLevel?: boolean;
  /**
   * Nothing is forgotten, there is no plan, points count the prompt's tags too, every token gets the whole of a score
   * and is set against the group by division. @default false
   */
  readonly faithful?: boolean;
}

const optionKinds: OptionKinds<AgenticOptions> = {
  tools: "list",
  language: ["en", "zh"],
  selfSearch: "boolean",
  maxQueries: "number",
  promptText: "string",
  memory: "object",
  accuracy: "any",
  form: ["ordered", "points"],
  relevance: "function",
  box: "object",
  tokenLevel: "boolean",
  faithful: "boolean",
};

const accuracyWeight = 3;

/**
 * Options of Agentic-RAG-R1, with its known defects mended: a backtrack or a summary really takes frames out of sight, so
 * the context shrinks and training sees what the policy saw; there is a plan; prompts are neither read twice nor scored;
 * groups without a difference teach nothing (the original draws random signs); KL is to the start model, which stays as
 * it is; the reward for form looks at the order of actions.
 *
 * `faithful` takes that back as far as the laws allow: sampled ids stay as they are, observations are visible to the
 * log-probabilities and take no part in the loss, and degenerate groups stay at 0.
 *
 * @param options - conversation, parts of the reward, faithfulness
 * @returns a recipe; change it by spreading
 * @throws ERR_ARGUMENT for an unknown key or a value of another type
 * @example
 * const { training, format } = agenticRagR1();
 * assert.deepEqual([training.samples, format.memory?.condenses], [4, "all"]);
 */
export function agenticRagR1(options: AgenticOptions = {}): Recipe {
  checkOptions("agenticRagR1", options, optionKinds);
  const { faithful = false, selfSearch = false, tokenLevel = true } = options;
  const { form = faithful ? "points" : "ordered" } = options;
  return {
    ...formatOf(options),
    limits: limitsOf(faithful),
    sampling: { temperature: 0.7, topP: 1 },
    ...rewardsOf({ ...options, faithful, selfSearch, tokenLevel, form }),
    algorithm: {
      advantage: "grpo",
      tokenRewards: faithful && tokenLevel ? "ratio" : undefined,
      clip: { low: 0.1, high: 0.15 },
      kl: { in: "loss", estimator: "k3", coef: 0.04 },
      aggregation: "sequence-mean",
      epochs: 2,
    },
    training: {
      steps: 300,
      // One prompt on each of eight GPUs.
      batchQuestions: 8,
      samples: 4,
      learningRate: 5e-6,
      warmupSteps: 0,
      decay: "constant",
      criticLearningRate: 1e-5,
      criticWarmupSteps: 0,
      weightDecay: 0,
      maxGradNorm: faithful ? 0 : undefined,
      // The original's dropout of 0.1 is left out: what is sampled is then what is trained.
      lora: { rank: 4, alpha: 32, targets: ["q_proj", "v_proj"] },
    },
  };
}

function limitsOf(faithful: boolean): Recipe["limits"] {
  return {
    maxTurns: faithful ? 8 : 24,
    maxResponseTokens: 500,
    maxObservationTokens: faithful ? 128 : 512,
    // Of what is visible at once; the original bounds what is generated.
    maxTokens: faithful ? 8096 : 4096,
    topK: faithful ? 1 : 3,
    searchTimeoutMs: 30_000,
  };
}

function formatOf({ box, ...options }: AgenticOptions): Pick<Recipe, "format" | "tools"> {
  if (box === undefined) return { format: agenticFormat(options) };
  const [first, ...others] = bracketTools(box.tools);
  if (first === undefined) throw new SeekError("ERR_ARGUMENT", "box: expected at least one tool, got none");
  return {
    format: {
      ...agenticFormat({ ...options, tools: [first, ...others] }),
      readCall: (text) => parseBracketCall(text, { fallback: first.name }),
    },
    tools: box,
  };
}

type Chosen = AgenticOptions &
  Required<Pick<AgenticOptions, "faithful" | "selfSearch" | "tokenLevel" | "form">>;

/**
 * The parts of the reward, for scoring with reasons: `weightedReward(agenticRewardParts())`.
 *
 * @param options - those of the recipe
 * @returns accuracy, form and, where it is asked for, relevance
 * @example
 * assert.deepEqual(agenticRewardParts().map(({ name, weight }) => [name, weight]), [["accuracy", 3], ["form", 1]]);
 */
export function agenticRewardParts(options: AgenticOptions = {}): RewardPart[] {
  const { faithful = false, selfSearch = false, form = faithful ? "points" : "ordered" } = options;
  const points = (trajectory: Parameters<Reward>[0]) => agenticFormatReward(trajectory, { faithful });
  return [
    { name: "accuracy", weight: accuracyWeight, reward: accuracyOf(options.accuracy) },
    {
      name: "form",
      weight: 1,
      reward: form === "points" ? points : (each) => agenticFormReward(each, { selfSearch }),
    },
    ...(options.relevance ? [{ name: "relevance", weight: 1, reward: options.relevance }] : []),
  ];
}

function accuracyOf(accuracy: AgenticAccuracy = "em"): Reward {
  if (typeof accuracy === "function") return accuracy;
  checkArgument("agenticRagR1: accuracy", accuracy, ["em", "f1", "option"]);
  if (accuracy === "option") return optionReward;
  if (accuracy === "f1") return f1Reward;
  return (trajectory, question) => agenticAccuracyReward(trajectory, question) / accuracyWeight;
}

function rewardsOf(options: Chosen): Pick<Recipe, "reward" | "tokenRewards"> {
  const { faithful, selfSearch, tokenLevel, form } = options;
  const parts = agenticRewardParts(options);
  if (!tokenLevel) return { reward: totalOf(parts) };
  const { relevance } = options;
  if (faithful) {
    const accuracy = totalOf(parts.filter(({ name }) => name === "accuracy"));
    return {
      // The ratio divides by the whole reward.
      reward: totalOf(parts),
      tokenRewards: (tokenizer) => agenticPointTokens({ tokenizer, accuracy, relevance, faithful }),
    };
  }
  const accuracyOnly = totalOf(parts.filter(({ name }) => name === "accuracy"));
  if (form === "points") {
    return {
      reward: accuracyOnly,
      tokenRewards: (tokenizer) => agenticPointTokens({ tokenizer, relevance }),
    };
  }
  // The whole point for form, of which turns lose their share.
  const whole = { name: "form", weight: 1, reward: () => 1 };
  return {
    reward: totalOf([...parts.filter(({ name }) => name !== "form"), whole]),
    tokenRewards: () => agenticFormTokens({ selfSearch }),
  };
}

function totalOf(parts: readonly RewardPart[]): Reward {
  const score = weightedReward(parts);
  return async (...args) => (await score(...args)).total;
}

/** What one step of a training does: its texts, their lengths, and how often each is run. */
import type { Recipe } from "../../lib/recipes/recipe.ts";

/** Lengths of the texts of a step, in tokens. */
interface TextLengths {
  /** What the samples of a question share. */
  readonly promptTokens: number;
  /** Searches before the answer. */
  readonly searches: number;
  /** Of one turn that the model writes. */
  readonly responseTokens: number;
  /** Of what one search finds. */
  readonly observationTokens: number;
}

/** A step. */
export interface Workload extends TextLengths {
  readonly questions: number;
  /** Texts of each question. */
  readonly samples: number;
  /** Whether the model writes its turns in this step; false for SFT. */
  readonly isGenerated: boolean;
  /** How far the length of a turn goes from its mean, as a share of it; turns are drawn evenly from that range. */
  readonly spread: number;
  /** Of one search. */
  readonly searchSeconds: number;
  /** Forward passes over the texts before the update: of the reference, of the critic, of the policy where ratios need it. */
  readonly scorings: number;
  readonly hasCritic: boolean;
  readonly hasReference: boolean;
  /** Passes over the texts in updates. */
  readonly epochs: number;
  /** Optimiser steps. */
  readonly updates: number;
}

/** Sums over the texts of a step. */
interface TextSums {
  readonly sequences: number;
  /** Of one text. */
  readonly length: number;
  /** Of one text that the model wrote, which alone have a loss. */
  readonly rows: number;
  /** Of one text behind its prompt. */
  readonly own: number;
}

/** Tokens of a step's texts. */
export function textSums(workload: TextLengths & Pick<Workload, "questions" | "samples">): TextSums {
  const { questions, samples, promptTokens, searches, responseTokens, observationTokens } = workload;
  const rows = (searches + 1) * responseTokens;
  const own = rows + searches * observationTokens;
  return { sequences: questions * samples, length: promptTokens + own, rows, own };
}

/**
 * A step of a recipe's training.
 *
 * @param recipe - its sizes and algorithm
 * @param texts - lengths of its texts, and what a search takes
 * @returns the step
 */
export function workloadOf(
  { algorithm, training }: Pick<Recipe, "algorithm" | "training">,
  texts: TextLengths & Pick<Workload, "spread" | "searchSeconds">,
): Workload {
  const { epochs = 1, miniBatches = 1 } = algorithm;
  const [hasReference, hasCritic] = [algorithm.kl !== undefined, algorithm.advantage === "gae"];
  // The trainer's own log-probabilities, where weights move while their ratios are in use.
  const needsOld = epochs * miniBatches > 1 || algorithm.kl?.in === "reward";
  const scorings = Number(hasReference) + Number(needsOld) + Number(hasCritic);
  return {
    ...texts,
    ...{ questions: training.batchQuestions, samples: training.samples, isGenerated: true },
    ...{ hasReference, hasCritic, scorings, epochs, updates: epochs * miniBatches },
  };
}

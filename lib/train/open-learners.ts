/** Opens what an algorithm trains with: a trainer, and the critic and the reference it asks for, closed together. */
import type { Model } from "../model/model.ts";
import { type Algorithm, algorithmKind } from "./algorithm/algorithm.ts";
import { Critic } from "./learner/critic.ts";
import type { AdamWOptions } from "./learner/learner.ts";
import { Trainer } from "./learner/trainer.ts";
import type { Learners } from "./rl-options.ts";

/** Learners that are closed together. */
export interface OpenLearners extends AsyncDisposable {
  readonly learners: Learners;
}

/**
 * Opens the learners of an algorithm: a critic for GAE, a frozen copy of the model for a KL term.
 *
 * @param model - the policy; the copies are of its weights as they are now
 * @param algorithm - what asks for critic and reference
 * @param options - AdamW's, of policy and critic
 * @returns the learners, to be closed
 * @throws ERR_ARGUMENT for an unknown key; ERR_MEMORY when the copies do not fit
 * @example
 * await using opened = await openLearners(await model.clone(), algorithms.ppo);
 * assert.ok(opened.learners.critic && opened.learners.reference);
 */
export async function openLearners(
  model: Model,
  algorithm: Algorithm,
  options: AdamWOptions = {},
): Promise<OpenLearners> {
  algorithmKind("openLearners: algorithm", algorithm);
  const trainer = await Trainer.open(model, options);
  const critic = algorithm.advantage === "gae" ? await Critic.open(model, options) : undefined;
  const reference = algorithm.kl === undefined ? undefined : await model.clone();
  return {
    learners: { trainer, critic, reference },
    [Symbol.asyncDispose]: async () => {
      for (const part of [trainer, critic, reference]) part?.close();
    },
  };
}

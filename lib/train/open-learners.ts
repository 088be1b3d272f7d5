/** Opens what an algorithm trains with: a trainer, and the critic and the reference it asks for, closed together. */
import { type Policy, policyParts } from "../model/policy.ts";
import { type Algorithm, algorithmKind } from "./algorithm/algorithm.ts";
import { Critic } from "./learner/critic.ts";
import type { LearnerOptions } from "./learner/learner-options.ts";
import { Trainer } from "./learner/trainer.ts";
import type { Learners } from "./rl-options.ts";

/** Learners that are closed together. */
export interface OpenLearners extends AsyncDisposable {
  readonly learners: Learners;
}

/**
 * Opens the learners of an algorithm: a critic for GAE, a reference for a KL term. The reference is a frozen copy of the
 * policy, a model or an adapter; that of an adapter to which nothing was done yet is its model, which needs no copy.
 *
 * @param policy - what is trained; copies are of its weights as they are now
 * @param algorithm - what asks for critic and reference
 * @param options - AdamW's and the memory of a backward pass, of policy and critic
 * @returns the learners, to be closed
 * @throws ERR_ARGUMENT for an unknown key; ERR_MEMORY when the copies do not fit
 * @example
 * await using opened = await openLearners(await model.clone(), algorithms.ppo);
 * assert.ok(opened.learners.critic && opened.learners.reference);
 */
export async function openLearners(
  policy: Policy,
  algorithm: Algorithm,
  options: LearnerOptions = {},
): Promise<OpenLearners> {
  algorithmKind("openLearners: algorithm", algorithm);
  const trainer = await Trainer.open(policy, options);
  const { model, adapter } = policyParts(policy, "openLearners");
  const critic = algorithm.advantage === "gae" ? await Critic.open(policy, options) : undefined;
  const isCopied = algorithm.kl !== undefined && adapter?.isNew !== true;
  const copy = isCopied ? await policy.clone() : undefined;
  const reference = algorithm.kl === undefined ? undefined : (copy ?? model);
  return {
    learners: { trainer, critic, reference },
    [Symbol.asyncDispose]: async () => {
      for (const part of [trainer, critic, copy]) part?.close();
    },
  };
}

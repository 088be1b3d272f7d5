/** What a training holds on one device of many: the plan of one process, and what ranks share out of it. */

import type { DecoderConfig } from "../../lib/model/config/config.ts";
import { adapterParameters } from "../../lib/model/form/adapter-size.ts";
import type { QuantisedWeights } from "../../lib/model/weights-form.ts";
import { activationBytes } from "../../lib/train/memory/activations.ts";
import {
  type MemoryPlan,
  type TrainingSizes,
  trainingMemory,
  type ZeroLevel,
} from "../../lib/train/memory/plan.ts";
import { cacheBytesPerToken } from "./work.ts";

/** What is trained, and how. */
export interface TrainedModel {
  readonly config: DecoderConfig;
  readonly dtype: "float32" | "bfloat16";
  /** How frozen weights are quantised. */
  readonly weights?: QuantisedWeights | undefined;
  /** Of an adapter on every projection; 0: the weights are trained. */
  readonly loraRank: number;
  readonly moments?: "float32" | "8-bit" | undefined;
  readonly masterWeights?: boolean | undefined;
  readonly hasCritic: boolean;
  readonly hasReference: boolean;
  /** Tokens of a micro-batch, and those with a loss. */
  readonly batch: { readonly tokens: number; readonly rows: number };
}

/** How ranks share a training. */
export interface Sharing {
  readonly zero: ZeroLevel;
  /** Ranks that share out what `zero` says. */
  readonly ranks: number;
}

/** Bytes of one device. */
export interface DeviceMemory extends MemoryPlan {
  /** Weights and gradients of other ranks, while they are needed here. */
  readonly gathered: number;
  /** Share of the layers that run their forward pass twice. */
  readonly recomputed: number;
  /** Sequences of the longest kind whose keys and values have room at once. */
  readonly sequences: number;
  readonly fits: boolean;
}

/** What a device has, and does besides training. */
interface DeviceOptions {
  readonly memoryBytes: number;
  readonly longest?: number | undefined;
  readonly isGathered?: boolean | undefined;
}

/** What is left of a device for libraries and for what allocators lose. */
export const usable = 0.9;

function sizesOf(model: TrainedModel): TrainingSizes {
  const { loraRank, config, dtype, weights, moments, masterWeights, batch, hasCritic, hasReference } = model;
  const isAdapter = loraRank > 0;
  return {
    ...{ config, dtype, weights, moments, masterWeights, batch, hasCritic },
    // The model itself is the reference of an adapter.
    hasReference: hasReference && !isAdapter,
    adapterParameters: isAdapter ? adapterParameters(config, { rank: loraRank }) : undefined,
  };
}

/** The states of a plan, each rank with its share; of the weights, those that are trained: a reference is on every rank. */
function shared(plan: MemoryPlan, trained: number, { zero, ranks }: Sharing): MemoryPlan {
  const share = (bytes: number, level: ZeroLevel): number => (zero >= level ? bytes / ranks : bytes);
  const weights = plan.weights - trained + share(trained, 3);
  const gradients = share(plan.gradients, 2);
  const optimiser = share(plan.optimiser, 1);
  const own = plan.critic - plan.gradients - plan.optimiser;
  const critic = plan.critic === 0 ? 0 : share(own, 3) + gradients + optimiser;
  return { ...plan, weights, gradients, optimiser, critic };
}

/** Two layers of weights under level 3, one that runs and one that comes; a layer's gradients under level 2. */
function gatheredLayers(
  plan: MemoryPlan,
  { config, trained }: { readonly config: DecoderConfig; readonly trained: number },
  { zero, ranks }: Sharing,
): number {
  if (ranks === 1) return 0;
  const layer = (bytes: number): number => bytes / config.numLayers;
  return (zero >= 3 ? 2 * layer(trained) : 0) + (zero >= 2 ? layer(plan.gradients) : 0);
}

/** What is gathered between updates under level 3: the policy for what generates, a critic to predict values. */
function gatheredBetween(whole: MemoryPlan, plan: MemoryPlan, { zero, ranks }: Sharing): number {
  if (zero < 3) return 0;
  const critic = whole.critic === 0 ? 0 : whole.critic - whole.gradients - whole.optimiser;
  return whole.weights - plan.weights + critic * (1 - 1 / ranks);
}

function heldBytes({ process, weights, gradients, optimiser, critic, reference }: MemoryPlan): number {
  return process + weights + gradients + optimiser + critic + reference;
}

/**
 * Bytes of one device of a training. With one rank the parts are those of `trainingMemory`.
 *
 * @param model - what one device has of the model, and how it is trained
 * @param sharing - ZeRO's level and ranks
 * @param options - bytes of the device, the longest sequence in tokens where this device generates, and whether weights are gathered
 *   between updates, as for any device's generation
 * @returns bytes; layers recompute where that makes the micro-batch fit
 */
export function deviceMemory(
  model: TrainedModel,
  sharing: Sharing,
  { memoryBytes, longest, isGathered = longest !== undefined }: DeviceOptions,
): DeviceMemory {
  const sizes = sizesOf(model);
  const whole = trainingMemory(sizes);
  // Under an adapter every rank has the frozen weights.
  const { adapterParameters } = sizes;
  const trained = adapterParameters === undefined ? whole.weights : 4 * adapterParameters;
  const plan = shared(whole, trained, sharing);
  const layers = gatheredLayers(whole, { config: model.config, trained }, sharing);
  const room = memoryBytes * usable - heldBytes(plan);
  const forms = { config: model.config, dtype: model.dtype, hasAdapter: model.loraRank > 0 };
  const all = activationBytes(forms, model.batch, 0);
  const work = whole.activations - all;
  const budget = Math.max(0, room - layers - plan.head - plan.scratch - work);
  const { activations } = trainingMemory({ ...sizes, activationBytes: budget });
  const between = isGathered ? gatheredBetween(whole, plan, sharing) : 0;
  const kept = longest === undefined ? 0 : longest * cacheBytesPerToken(model.config);
  const sequences = longest === undefined ? 0 : Math.max(0, Math.floor((room - between) / kept));
  const cache = Math.min(Math.max(0, room - between), maxSequences * kept);
  const training = layers + activations + plan.head + plan.scratch;
  const total =
    heldBytes(plan) + Math.max(training, between + (longest === undefined ? 0 : Math.max(kept, cache)));
  const recomputed = recomputedShare(model, activations - work);
  const fits = training <= room && between <= room && (longest === undefined || sequences > 0);
  return {
    ...plan,
    ...{ activations, cache, total, gathered: Math.max(layers, between) },
    recomputed,
    sequences,
    fits,
  };
}

/** More keys and values than this many sequences have are of no use to an between. */
const maxSequences = 1024;

function recomputedShare({ config, dtype, loraRank, batch }: TrainedModel, kept: number): number {
  const model = { config, dtype, hasAdapter: loraRank > 0 };
  let layers = 0;
  while (layers < config.numLayers - 1 && activationBytes(model, batch, layers) > kept) layers += 1;
  return layers / config.numLayers;
}

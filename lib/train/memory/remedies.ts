/** What makes a training fit that has no room. */
import { adapterParameters, defaultRank } from "../../model/form/adapter-size.ts";
import { type TrainingSizes, trainingMemory } from "./plan.ts";

/** A change, as the command line has it, and what the training takes then. */
interface Remedy {
  readonly change: string;
  readonly bytes: number;
}

type Change = readonly [change: string, sizes: Partial<TrainingSizes>];

/** Micro-batches below it leave a GPU idle. */
const leastTokens = 256;

function smallerBatches({ batch }: TrainingSizes): Change[] {
  const changes: Change[] = [];
  for (let tokens = Math.floor(batch.tokens / 2); tokens >= leastTokens; tokens = Math.floor(tokens / 2)) {
    const rows = Math.ceil((batch.rows * tokens) / batch.tokens);
    changes.push([`--micro-batch-tokens ${tokens}`, { batch: { tokens, rows } }]);
  }
  return changes;
}

function changesOf(sizes: TrainingSizes): Change[] {
  const { config, adapterParameters: adapter, weights, moments, cacheBytes = 0, activationBytes } = sizes;
  const own: Change[] = [];
  if (activationBytes !== undefined) own.push(["no --activation-gib", { activationBytes: undefined }]);
  if (cacheBytes > 0) own.push(["no --cache-gib", { cacheBytes: 0 }]);
  if (adapter !== undefined)
    return weights === undefined ? [...own, ["--weights nf4", { weights: "nf4" }]] : own;
  const small = { moments: "8-bit", masterWeights: false } as const;
  if (moments !== "8-bit") own.push(["--optimizer moments=8-bit", { moments: "8-bit" }]);
  own.push(["--optimizer moments=8-bit,masterWeights=false", small]);
  const lora = { adapterParameters: adapterParameters(config), hasReference: false };
  return [...own, [`--lora ${defaultRank}`, lora]];
}

/**
 * Changes that make a training fit, each alone: what it was given too much of, 8-bit moments, an adapter, smaller micro-batches.
 *
 * @param sizes - of a training that does not fit into its `freeBytes`
 * @returns those that fit, of smaller micro-batches the largest; none where nothing is enough
 * @example
 * const sizes = { config: model.config, dtype: "bfloat16", batch: { tokens: 8, rows: 4 } } as const;
 * for (const { change, bytes } of remediesOf({ ...sizes, freeBytes: 1e9 })) assert.ok(change && bytes < 1e9);
 */
export function remediesOf(sizes: TrainingSizes): Remedy[] {
  const { freeBytes = Number.POSITIVE_INFINITY } = sizes;
  const fitting = (changes: readonly Change[]): Remedy[] =>
    changes
      .map(([change, changed]) => ({ change, bytes: trainingMemory({ ...sizes, ...changed }).total }))
      .filter(({ bytes }) => bytes <= freeBytes);
  return [...fitting(changesOf(sizes)), ...fitting(smallerBatches(sizes)).slice(0, 1)];
}

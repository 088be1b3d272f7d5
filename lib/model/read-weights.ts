/** Replaces the weights of a policy that is in memory. */
import { native } from "../base/addon/native.ts";
import { Adapter } from "./adapter.ts";
import { splitFused } from "./fused.ts";
import { findWeights } from "./model-folder.ts";
import type { Policy } from "./policy.ts";

/**
 * Reads a folder's numbers into a policy, between two steps of the engine.
 *
 * @param policy - a model, or an adapter of the folder's shape
 * @param folder - of such a model or adapter
 * @throws ERR_IO when a file cannot be read; ERR_FORMAT when it holds others than these weights; ERR_STATE once closed
 */
export async function readWeights(policy: Policy, folder: string): Promise<void> {
  if (policy instanceof Adapter) return policy.read(folder);
  await native().readWeights(policy.handle, splitFused(await findWeights(folder), policy.config));
}

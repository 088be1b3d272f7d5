/** Weights on their way from a rank that trains to those that generate. */
import { native } from "../../base/addon/native.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import { type Policy, policyParts } from "../../model/policy.ts";

/**
 * Gives all ranks what one rank's policy is trained to be, bit for bit, and its version: a model's weights, or an adapter's alone.
 * Engines see it between two steps (law 6).
 *
 * @param policy - on every rank one of the same shape
 * @param processGroup - the ranks, which all call this
 * @param root - whose weights they are, `@default` 0
 * @throws ERR_ARGUMENT for a model under tensor parallelism; ERR_STATE for a policy of another shape, and once it is closed; ERR_REMOTE naming the rank that is gone
 */
export async function broadcastWeights(policy: Policy, processGroup: ProcessGroup, root = 0): Promise<void> {
  const { handles } = policyParts(policy, "broadcastWeights");
  await native().broadcastWeights(...handles, processGroup.handle, root);
}

/** What generates and is trained: a model, or an adapter on one. */
import type { NativeAdapter, NativeModel } from "../base/addon/models.ts";
import { shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";
import { Adapter } from "./adapter.ts";
import { Model } from "./model.ts";

/** A model's own weights, or those of an adapter on a model. */
export type Policy = Model | Adapter;

/** The model of a policy, and its adapter where it has one. */
interface PolicyParts {
  readonly model: Model;
  readonly adapter: Adapter | undefined;
  /** What native calls take. */
  readonly handles: readonly [NativeModel, NativeAdapter | undefined];
}

/**
 * Takes a policy apart.
 *
 * @param policy - a model or an adapter
 * @param where - names the argument in a complaint
 * @throws ERR_ARGUMENT for anything else
 */
export function policyParts(policy: Policy, where: string): PolicyParts {
  if (policy instanceof Model)
    return { model: policy, adapter: undefined, handles: [policy.handle, undefined] };
  if (policy instanceof Adapter) {
    const { model } = policy;
    return { model, adapter: policy, handles: [model.handle, policy.handle] };
  }
  const expected = "a model, such as Model.load gives, or an adapter";
  throw new SeekError("ERR_ARGUMENT", `${where}: expected ${expected}, got ${shownValue(policy)}`);
}

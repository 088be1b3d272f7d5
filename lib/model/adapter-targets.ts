/** The projections that an adapter may be put on, by name. */
import type { NativeAdapter, NativeModel } from "../base/addon/models.ts";
import { native } from "../base/addon/native.ts";
import { codeOf, SeekError } from "../base/errors.ts";

/** What stands behind the last dot of the projections that an adapter is on, each once, in order. */
export function projectionsOf(adapter: NativeAdapter): string[] {
  return [...new Set(adapter.tensors().map(({ name }) => name.split(".").at(-3) ?? ""))].sort();
}

/** Ends the making of an adapter: of a target that the model has not with those that it has. */
export async function refuseTargets(error: unknown, model: NativeModel): Promise<never> {
  if (codeOf(error) !== "ERR_ARGUMENT") throw error;
  const whole = new (native().AdapterHandle)();
  await whole.create(model, { rank: 1, alpha: 1, rankStabilised: false, targets: ["all-linear"], seed: 0 });
  const known = projectionsOf(whole).join(", ");
  whole.close();
  const message = `${(error as Error).message}; expected all-linear, or some of ${known}`;
  throw new SeekError("ERR_ARGUMENT", message, { cause: error });
}

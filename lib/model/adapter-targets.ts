/** The projections that an adapter may be put on, by name. */
import type { NativeAdapter, NativeModel } from "../base/addon/models.ts";
import { native } from "../base/addon/native.ts";
import { SeekError } from "../base/errors.ts";

/** What stands behind the last dot of the projections that an adapter is on, each once, in order. */
export function projectionsOf(adapter: NativeAdapter): string[] {
  return [...new Set(adapter.tensors().map(({ name }) => name.split(".").at(-3) ?? ""))].sort();
}

/** What stands around a projection's name in those of its two tensors, as peft writes them. */
const tensorName = /^base_model\.model\.(.*)\.lora_[AB]\.weight$/;

/** An adapter of the smallest rank on all projections, which knows their names. */
async function withWhole<Value>(model: NativeModel, use: (whole: NativeAdapter) => Value): Promise<Value> {
  const whole = new (native().AdapterHandle)();
  await whole.create(model, { rank: 1, alpha: 1, rankStabilised: false, targets: ["all-linear"], seed: 0 });
  try {
    return use(whole);
  } finally {
    whole.close();
  }
}

/** The whole names of the projections that an adapter's tensors belong to, each once. @throws ERR_FORMAT for a tensor of another name */
function projectionNames(tensors: readonly { readonly name: string }[], from: string): string[] {
  const names = tensors.map(({ name }) => {
    const found = tensorName.exec(name)?.[1];
    if (found !== undefined) return found;
    const expected = "expected base_model.model.MODULE.lora_A.weight, or lora_B";
    throw new SeekError("ERR_FORMAT", `${from}: tensors: ${expected}, got ${name}`);
  });
  return [...new Set(names)];
}

/** A model's projections by their whole names. */
export const allProjections = (model: NativeModel): Promise<string[]> =>
  withWhole(model, (whole) => projectionNames(whole.tensors(), "model"));

/** Refuses a tensor of a module that an adapter is not on. @throws ERR_FORMAT naming the module */
export function refuseModules(
  stored: readonly { readonly name: string }[],
  adapter: NativeAdapter,
  from: string,
): void {
  const own = new Set(projectionNames(adapter.tensors(), from));
  const other = projectionNames(stored, from).find((name) => !own.has(name));
  if (other === undefined) return;
  const message = `expected tensors of what target_modules of adapter_config.json means, got some of ${other}`;
  throw new SeekError("ERR_FORMAT", `${from}: ${message}`);
}

/** What no two models with other weights have in common. */
import { createHash } from "node:crypto";
import type { Model } from "../../../lib/model/model.ts";

/** A digest of all weights, in their order. */
export async function digestOf(model: Model): Promise<string> {
  const hash = createHash("sha256");
  for (const { name } of model.handle.tensors()) hash.update(await model.parameter(name));
  return hash.digest("hex");
}

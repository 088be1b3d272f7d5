/** The error of a step whose numbers are not finite any more. */
import { codeOf, SeekError } from "../../base/errors.ts";

/**
 * Adds the step and a remedy to an ERR_RANGE; other errors stay as they are.
 *
 * @param step - from 1
 * @param work - may end with ERR_RANGE
 * @param what - what is not finite then
 * @throws ERR_RANGE; what `work` throws
 */
export async function explainNonFinite<Value>(
  step: number,
  work: Promise<Value>,
  what = "the gradient is not finite, and was not applied",
): Promise<Value> {
  try {
    return await work;
  } catch (cause) {
    if (codeOf(cause) !== "ERR_RANGE") throw cause;
    const remedy = "Remedy: go on from the last checkpoint, or begin again, with a lower learning rate";
    const message = `step ${step}: ${what} (${(cause as Error).message}). ${remedy}`;
    throw new SeekError("ERR_RANGE", message, { cause });
  }
}

/** The error of a step whose numbers are not finite any more. */
import { codeOf, SeekError } from "../../base/errors.ts";

/**
 * Adds the step and a remedy to the ERR_RANGE of a number that is not finite; other errors stay as they are.
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
    // Other numbers out of range, such as a token id, keep the words of whoever refused them.
    if (codeOf(cause) !== "ERR_RANGE" || !/expected (a )?finite number/.test((cause as Error).message))
      throw cause;
    const remedy = "Remedy: go on from the last checkpoint, or begin again, with a lower learning rate";
    const message = `step ${step}: ${what} (${(cause as Error).message}). ${remedy}`;
    throw new SeekError("ERR_RANGE", message, { cause });
  }
}

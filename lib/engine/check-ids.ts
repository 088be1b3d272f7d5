/** Lists of token ids at the door. */
import { shownValue } from "../base/check-options.ts";
import { SeekError } from "../base/errors.ts";

/** Copies ids into an Int32Array. @throws ERR_ARGUMENT for anything else; ERR_RANGE for one outside the vocabulary */
export function checkIds(
  ids: Int32Array | readonly number[],
  vocabSize: number,
  name: string = "ids",
): Int32Array {
  if (!(ids instanceof Int32Array || Array.isArray(ids))) {
    const expected = "an Int32Array or a list of token ids, such as tokenizer.encode gives";
    throw new SeekError("ERR_ARGUMENT", `${name}: expected ${expected}, got ${shownValue(ids)}`);
  }
  const wrong = ids.findIndex((id) => !(id >= 0 && id < vocabSize && Number.isInteger(id)));
  if (wrong >= 0) {
    throw new SeekError(
      "ERR_RANGE",
      `${name}: expected 0 to ${vocabSize - 1}, got ${shownValue(ids[wrong])} at ${wrong}`,
    );
  }
  return Int32Array.from(ids);
}

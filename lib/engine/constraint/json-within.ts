/** JSON of a value that may be far too large: what that takes depends on the bound, not on the value. */
import { messageOf, SeekError } from "../../base/errors.ts";

/**
 * The JSON of a constraint.
 *
 * @param most - characters
 * @returns undefined where it has more
 * @throws ERR_ARGUMENT for what JSON cannot hold
 */
export function jsonWithin(constraint: object, most: number): string | undefined {
  if (isOver(constraint, most)) return undefined;
  let text: string;
  try {
    text = JSON.stringify(constraint, finite);
  } catch (error) {
    if (error instanceof SeekError) throw error;
    throw new SeekError("ERR_ARGUMENT", `constraint: expected JSON: ${messageOf(error)}`);
  }
  return text.length > most ? undefined : text;
}

/** Whether a value has more characters, as far as those of its texts and the number of its values tell. */
function isOver(value: unknown, most: number): boolean {
  let numCharacters = 0;
  const left: unknown[] = [value];
  while (left.length > 0 && numCharacters + left.length <= most) {
    const each = left.pop();
    numCharacters += typeof each === "string" ? each.length : 1;
    if (Array.isArray(each)) {
      if (each.length + numCharacters > most) return true;
      for (const item of each) left.push(item);
    } else if (typeof each === "object" && each !== null) {
      for (const [key, inner] of Object.entries(each)) {
        numCharacters += key.length;
        left.push(inner);
      }
    }
  }
  return numCharacters + left.length > most;
}

/** What JSON has no number for it writes as null. */
function finite(key: string, value: unknown): unknown {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  throw new SeekError("ERR_ARGUMENT", `constraint: "${key}": expected a number of JSON, got ${value}`);
}

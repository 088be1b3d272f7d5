/** How much longer a tokenizer.json may make a text: replacements in a row could double it at every stage. */
import { SeekError } from "../../../base/errors.ts";

/** A normal form makes at most 18 characters of one; spaces around ideographs make three. */
const maxFactor = 64;
/** What short texts may gain, for example by a prefix. */
const slack = 4096;

/** Stages that a normaliser or a decoder may have; those of published models have fewer than ten. */
const maxStages = 256;

/** The most characters that may come of a text. */
export function mostCharacters(text: string): number {
  return maxFactor * text.length + slack;
}

/**
 * Refuses a text that has grown too long.
 *
 * @param part the component at work
 * @throws ERR_FORMAT when `length` is over `most`
 */
export function checkGrowth(part: string, length: number, most: number): void {
  if (length <= most) return;
  throw new SeekError("ERR_FORMAT", `${part}: makes more than ${most} characters of a text`);
}

/** @throws ERR_FORMAT when a part has more stages than any model needs */
export function checkStages(part: string, count: number): void {
  if (count <= maxStages) return;
  throw new SeekError("ERR_FORMAT", `${part}: expected at most ${maxStages} components`);
}

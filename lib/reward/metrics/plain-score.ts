/** Scores of answers that are not to be compared by their words: one of the two has none. */

import { checkOptions } from "../../base/check-options.ts";

/** Option of scores. */
export interface FaithfulOption {
  /** Keeps the quirks of the originals, as each function says. @default false */
  readonly faithful?: boolean;
}

/** @throws ERR_ARGUMENT for what are no such options */
export function checkFaithful(name: string, options: FaithfulOption): void {
  checkOptions(name, options, { faithful: "boolean" });
}

const letterOrDigit = /[\p{L}\p{N}]/u;

/** Whether an answer has a letter or a digit of any script. */
export function hasWords(text: string): boolean {
  return letterOrDigit.test(text);
}

/**
 * The score of an answer where words are not to be compared: an answer without letters or digits has none where the
 * accepted one has some, and an accepted answer of which normalisation leaves nothing is compared in lower case alone.
 *
 * @param answer - what was said
 * @param gold - an accepted answer
 * @param words - the normalisation
 * @returns 0 or 1; undefined where the words are to be compared
 */
export function plainScore(
  answer: string,
  gold: string,
  words: (text: string) => readonly string[],
): 0 | 1 | undefined {
  const [given, accepted] = [answer, gold].map((text) => text.toLowerCase().trim());
  if (given === "" || (!hasWords(answer) && hasWords(gold))) return 0;
  if (words(gold).length > 0) return undefined;
  return given === accepted ? 1 : 0;
}

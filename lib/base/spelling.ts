/** Finds the known word nearest to a misspelt one. */

/**
 * The candidate that takes the fewest single-letter edits to reach; among equals, the one most alike in length.
 *
 * @param word - what was written
 * @param candidates - what could have been meant
 * @returns the nearest one; undefined when all differ in more than half of their letters
 * @example
 * assert.equal(nearestWord("maxToken", ["maxTokens", "topK"]), "maxTokens");
 */
export function nearestWord(word: string, candidates: readonly string[]): string | undefined {
  const ranked = candidates
    .map((candidate) => ({ candidate, edits: countEdits(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter(({ candidate, edits }) => edits <= Math.max(word.length, candidate.length) / 2)
    .sort((a, b) => a.edits - b.edits || lengthGap(a.candidate, word) - lengthGap(b.candidate, word));
  return ranked[0]?.candidate;
}

/**
 * What is said of a key that nobody knows.
 *
 * @param key - what was written
 * @param known - all there are
 * @returns the end of a message, with the nearest spelling or all of them
 */
export function unknownKey(key: string, known: readonly string[]): string {
  const meant = nearestWord(key, known);
  const hint = meant === undefined ? `expected one of ${known.join(", ")}` : `did you mean "${meant}"?`;
  return `unknown key "${key}"; ${hint}`;
}

const lengthGap = (a: string, b: string): number => Math.abs(a.length - b.length);

// Levenshtein's distance, row by row, two letters in the wrong order being one edit.
function countEdits(from: string, to: string): number {
  let above: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const beforeThat = above;
    above = row;
    row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? (beforeThat[j - 2] ?? 0) + 1 : replaced;
      row.push(Math.min(replaced, swapped, (row[j - 1] ?? 0) + 1, (above[j] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}

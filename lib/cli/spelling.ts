/** Finds the word somebody meant. */

/**
 * The candidate that takes the fewest single-letter edits to reach.
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
    .sort((a, b) => a.edits - b.edits);
  return ranked[0]?.candidate;
}

// Levenshtein's distance, row by row.
function countEdits(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const above = row;
    row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (above[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      row.push(Math.min(replaced, (above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1));
    }
  }
  return row[to.length] ?? 0;
}

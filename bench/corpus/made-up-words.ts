/** Words that nobody knows, and what draws them: the texts of generated corpora. */

/** Numbers in [0, 1) by xorshift32: enough for made-up words, and ten times as fast as a good generator. */
export function randomOf(seed: number): () => number {
  let state = (seed * 2654435761 + 88172645) >>> 0 || 1;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) / 2 ** 32;
  };
}

/** The n-th word: consonant and vowel in turn, the frequent ones short. */
export function wordOf(n: number): string {
  let word = "";
  for (let rest = n + 1; rest > 0; rest = Math.floor(rest / 100)) {
    const syllable = rest % 100;
    word += "bcdfghjklmnprstvwxyz".charAt(Math.floor(syllable / 5)) + "aeiou".charAt(syllable % 5);
  }
  return word;
}

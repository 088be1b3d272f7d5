/** Seeds that follow from a name and a number, so that a result depends on what is asked and not on when. */

/**
 * Mixes a run's seed with a name and a number (FNV-1a over the text, then MurmurHash3's last mixing step).
 *
 * @param seed - of the run
 * @param name - what draws: a question's id, a step, an epoch
 * @param index - distinguishes those of one name, such as the samples of a question
 * @returns an unsigned 32-bit seed
 */
export function mixSeed(seed: number, name: string, index: number): number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(`${seed}:${index}:${name}`)) {
    hash = Math.imul(hash ^ byte, 0x01000193);
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) >>> 0;
}

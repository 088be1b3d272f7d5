/** pass@k: how likely at least one of k answers to a question is right, when more than k were given. */
import { SeekError } from "../../base/errors.ts";

/** What is known of one prediction. */
export interface Attempt {
  readonly question: string;
  readonly answers: readonly string[];
  /** Above 0 when it is right. */
  readonly em: number;
}

/**
 * The unbiased estimate `1 - C(n - c, k) / C(n, k)` (Chen et al., arXiv 2107.03374).
 *
 * @param attempts - `n` answers, `c` of them right
 * @param k - how many may be tried, at most `n`
 * @returns a probability
 * @throws ERR_ARGUMENT for a `k` that is no whole number from 1 to `n`
 * @example
 * assert.equal(passAtK({ n: 4, c: 1 }, 2), 0.5);
 */
export function passAtK({ n, c }: { readonly n: number; readonly c: number }, k: number): number {
  if (!Number.isInteger(k) || k < 1 || k > n) {
    throw new SeekError("ERR_ARGUMENT", `pass@k: expected a k from 1 to ${n}, got ${k}`);
  }
  let allWrong = 1;
  for (let i = n - c + 1; i <= n; i += 1) allWrong *= 1 - k / i;
  return n - c < k ? 1 : 1 - allWrong;
}

/**
 * pass@k over questions that were answered several times each.
 *
 * @param attempts - in any order; those of one question have its text and its accepted answers
 * @param ks - which
 * @returns the mean over questions for each k
 * @throws ERR_ARGUMENT when a question has fewer attempts than one of `ks`
 * @example
 * const attempts = [1, 0].map((em) => ({ question: "who?", answers: ["x"], em }));
 * assert.deepEqual(meanPassAtK(attempts, [1, 2]), { "pass@1": 0.5, "pass@2": 1 });
 */
export function meanPassAtK(attempts: readonly Attempt[], ks: readonly number[]): Record<string, number> {
  const counts = new Map<string, { question: string; n: number; c: number }>();
  for (const { question, answers, em } of attempts) {
    const key = JSON.stringify([question, answers]);
    const count = counts.get(key) ?? { question, n: 0, c: 0 };
    counts.set(key, { question, n: count.n + 1, c: count.c + (em > 0 ? 1 : 0) });
  }
  const all = [...counts.values()];
  return Object.fromEntries(
    ks.map((k) => {
      const few = all.find(({ n }) => n < k);
      if (few !== undefined) {
        const what = `pass@${k}: expected at least ${k} predictions of each question`;
        throw new SeekError("ERR_ARGUMENT", `${what}, got ${few.n} of "${few.question}"`);
      }
      return [`pass@${k}`, all.reduce((sum, count) => sum + passAtK(count, k), 0) / all.length];
    }),
  );
}

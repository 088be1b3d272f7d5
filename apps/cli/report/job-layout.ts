/** How the processes of a job share its work, in one line. */

/** What they share. */
export interface Sharing {
  /** Ranks that share a model. @default 1 */
  readonly tensorParallel?: number | undefined;
  /** What else ranks share out. @default 0 */
  readonly zero?: number | undefined;
  /** Ranks that only generate. @default 0 */
  readonly rolloutRanks?: number | undefined;
}

/**
 * The layout of a job.
 *
 * @param numRanks - processes in all
 * @param sharing - what they share
 * @example
 * assert.equal(jobLayout(4, { tensorParallel: 2, zero: 1 }), "4 processes: 2 x 2 (tensor x data), ZeRO 1");
 */
export function jobLayout(
  numRanks: number,
  { tensorParallel = 1, zero = 0, rolloutRanks = 0 }: Sharing = {},
): string {
  const numReplicas = (numRanks - rolloutRanks) / tensorParallel;
  const learners = `${tensorParallel} x ${numReplicas} (tensor x data)`;
  const parts = [
    rolloutRanks > 0 ? `${numRanks - rolloutRanks} train, ${learners}` : learners,
    ...(numReplicas > 1 ? [`ZeRO ${zero}`] : []),
    ...(rolloutRanks > 0 ? [`${rolloutRanks} only generate`] : []),
  ];
  return `${numRanks} processes: ${parts.join(", ")}`;
}

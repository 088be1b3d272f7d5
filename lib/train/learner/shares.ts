/** How the ranks of a learner share a step's micro-batches, and sum what comes of them. */
import type { NativeBatch } from "../../base/addon/training.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import { sharesOf } from "../batch/families.ts";
import { type Cut, cutIntoMicroBatches } from "../batch/micro-batches.ts";
import type { TrainSequence } from "../batch/packing.ts";
import type { ZeroLevel } from "../memory/plan.ts";

/** Into how many parts sequences are cut, and who runs them: part p is run by rank p modulo the ranks. */
export interface Sharing {
  readonly processGroup: ProcessGroup | undefined;
  readonly numParts: number;
  /** Whether every rank takes part in each micro-batch of another. */
  readonly isTogether: boolean;
}

/** The ranks that open a learner together, and what they share out. */
interface Opened {
  readonly processGroup?: ProcessGroup | undefined;
  readonly zero?: ZeroLevel | undefined;
}

/** What runs micro-batches. */
interface Runner<Sums, Stats> {
  newSums(): Sums;
  run(batch: NativeBatch, sums: Sums): Promise<void>;
  /** In place of a micro-batch that a part lacks. */
  idle(): Promise<void>;
  readSums(sums: Sums): Promise<Stats>;
}

/** Numbers by their names. */
type Numbers<Stats> = { readonly [Name in keyof Stats]: number };

/** Statistics of two parts of a batch: sums, and the larger of two maxima. */
function added<Stats extends Numbers<Stats>>(a: Stats, b: Stats): Stats {
  const names = Object.keys(a) as (keyof Stats & string)[];
  const sums = names.map((name) => [
    name,
    name.endsWith("Max") ? Math.max(a[name], b[name]) : a[name] + b[name],
  ]);
  return Object.fromEntries(sums) as Stats;
}

/**
 * Runs each part on its rank.
 *
 * @param sequences - of all ranks, the same on each
 * @param cut - of each part into micro-batches
 * @param sharing - the parts
 * @param runner - runs a micro-batch
 * @returns the sums over all parts, added in the parts' order whoever ran them
 */
export async function sumOverParts<Sums, Stats extends Numbers<Stats>>(
  sequences: readonly TrainSequence[],
  cut: Cut,
  sharing: Sharing,
  runner: Runner<Sums, Stats>,
): Promise<Stats> {
  const { processGroup, numParts, isTogether } = sharing;
  const own = ownBatches(sequences, cut, sharing);
  const running = runAll(own, sharing, runner);
  if (isTogether) await orFail(running, processGroup);
  const stats = processGroup === undefined ? [await running] : await processGroup.allGather("loss", running);
  const inOrder = Array.from(
    { length: numParts },
    (_, p) => stats[p % stats.length]![Math.floor(p / stats.length)]!,
  );
  return inOrder.reduce((sum, one) => added(sum, one));
}

/**
 * What other ranks take part in: they wait in the middle of it for a rank that fails, and are told.
 *
 * @param running - this rank's part
 * @param processGroup - the ranks
 * @param isShared - whether an error is one that all ranks have come to
 */
export async function orFail<Result>(
  running: Promise<Result>,
  processGroup: ProcessGroup | undefined,
  isShared: (error: unknown) => boolean = () => false,
): Promise<Result> {
  try {
    return await running;
  } catch (error) {
    if (!isShared(error)) processGroup?.fail(error);
    throw error;
  }
}

/** A learner that opens: where ranks each read their share of the weights, one alone may find a number that is wrong. */
export function opened(opening: Promise<void>, { zero, processGroup }: Opened): Promise<void> {
  return orFail(opening, zero === 3 ? processGroup : undefined);
}

/** The micro-batches of each part that this rank runs. */
async function ownBatches(
  sequences: readonly TrainSequence[],
  cut: Cut,
  { processGroup, numParts }: Sharing,
) {
  const { rank, size } = processGroup ?? { rank: 0, size: 1 };
  const shares = numParts === 1 ? [sequences.map((_, i) => i)] : sharesOf(sequences, numParts);
  const own = shares.filter((_, part) => part % size === rank);
  return own.map((indices) =>
    cutIntoMicroBatches(
      indices.map((i) => sequences[i]!),
      cut,
    ),
  );
}

async function runAll<Sums, Stats>(
  cutting: ReturnType<typeof ownBatches>,
  { processGroup, isTogether }: Sharing,
  runner: Runner<Sums, Stats>,
): Promise<Stats[]> {
  const counting = cutting.then((parts) => Math.max(...parts.map((batches) => batches.length)));
  const counts =
    isTogether && processGroup ? await processGroup.allGather("micro-batches", counting) : [await counting];
  const parts = (await cutting).map((batches) => ({ batches, sums: runner.newSums() }));
  for (let round = 0; round < Math.max(...counts); round += 1) {
    for (const { batches, sums } of parts) {
      const batch = batches[round];
      if (batch !== undefined) await runner.run(batch.pack(), sums);
      else if (isTogether) await runner.idle();
    }
  }
  return Promise.all(parts.map(({ sums }) => runner.readSums(sums)));
}

/** What the commands about index folders share. */
import type { IndexProgress } from "../index-folder/progress.ts";
import type { CommandIo } from "./command.ts";
import { progressLine } from "./progress.ts";

function duration(seconds: number): string {
  if (seconds < 90) return `${Math.ceil(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

function lineOf({ stage, done, total, perSecond, remainingSeconds }: IndexProgress): string {
  const of = total === undefined ? "" : ` of ${total}`;
  const left = remainingSeconds === undefined ? "" : `, ${duration(remainingSeconds)} left`;
  return `${stage}: ${done}${of} passages, ${Math.round(perSecond)} a second${left}`;
}

/** Runs work that reports its progress; gives its result and the seconds it took. */
export async function withIndexProgress<T>(
  io: CommandIo,
  work: (listener: { onProgress: (progress: IndexProgress) => void; signal: AbortSignal }) => Promise<T>,
): Promise<[result: T, seconds: number]> {
  const started = performance.now();
  const line = progressLine(io);
  try {
    const onProgress = (progress: IndexProgress): void => line.show(lineOf(progress));
    const result = await work({ onProgress, signal: io.signal });
    return [result, (performance.now() - started) / 1000];
  } finally {
    line.end();
  }
}

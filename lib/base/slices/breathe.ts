/** Long work in slices: one slice of one piece of work a turn of the event loop, so that many at once hold it no longer than one. */

/** Work at a stretch, milliseconds. */
const sliceMs = 4;

/** Who waits for a turn, in the order of arrival. */
const waiting: (() => void)[] = [];

let since = Number.NEGATIVE_INFINITY;

function giveTurn(): void {
  since = performance.now();
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(giveTurn);
}

/** Waits for a turn, unless the last one has begun just now. To be called before and between short pieces of long work. */
export async function breathe(): Promise<void> {
  if (performance.now() - since < sliceMs) return;
  await new Promise<void>((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(giveTurn);
  });
}

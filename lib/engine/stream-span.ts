/** A span that is read while it is sampled. */
import type { Span, SpanChunk } from "./span.ts";

/** Who reads a span while it comes. */
export interface SpanReader {
  readonly onChunk: (chunk: SpanChunk) => void;
  /** Fires when the reader leaves. */
  readonly leave: AbortSignal;
}

/**
 * Hands out chunks as they come; leaving the loop early ends the span.
 *
 * @param start - begins the span, once the first chunk is asked for
 * @returns chunks of at least one token; the span is the generator's return value
 * @throws what `start` rejects with
 */
export async function* streamSpan(
  start: (reader: SpanReader) => Promise<Span>,
): AsyncGenerator<SpanChunk, Span, undefined> {
  const chunks: SpanChunk[] = [];
  let wake = (): void => {};
  let isDone = false;
  const leave = new AbortController();
  const onChunk = (chunk: SpanChunk): void => {
    chunks.push(chunk);
    wake();
  };
  const span = start({ onChunk, leave: leave.signal });
  const ended = span
    .catch(() => {})
    .then(() => {
      isDone = true;
      wake();
    });
  try {
    while (!isDone || chunks.length > 0) {
      const chunk = chunks.shift();
      if (chunk !== undefined) yield chunk;
      else if (!isDone) await new Promise<void>((resolve) => (wake = resolve));
    }
    return await span;
  } finally {
    leave.abort();
    await ended;
  }
}

/** A span that the engine is making: what came so far, and who waits for it. */
import { SeekError } from "../base/errors.ts";
import { addToRuns, type SequenceEvent } from "./sequence-event.ts";
import type { SpanChunk, VersionRun } from "./span.ts";

/** Who reads a span while it comes. */
export interface SpanReader {
  readonly onChunk: (chunk: SpanChunk) => void;
  /** Fires when the reader leaves. */
  readonly leave: AbortSignal;
}

/** What is asked of the engine. */
interface PendingKind {
  /** Whether the tokens are sampled, and so become the sequence's, rather than scored. */
  readonly isSampled: boolean;
  readonly hasEntropies: boolean;
  readonly hasTop: boolean;
  readonly onChunk?: ((chunk: SpanChunk) => void) | undefined;
  /** Told of tokens that are not the last. */
  readonly onMore?: ((ids: Int32Array) => void) | undefined;
}

/** Collects chunks until the event that ends them. */
export class PendingSpan {
  /** Which weights sampled the tokens so far. */
  versionRuns: readonly VersionRun[] = [];
  /** All chunks and the last event; rejects when the step failed or the sequence was closed. */
  readonly done: Promise<[SpanChunk[], SequenceEvent]>;
  readonly #kind: PendingKind;
  readonly #chunks: SpanChunk[] = [];
  #resolve!: (result: [SpanChunk[], SequenceEvent]) => void;
  #reject!: (error: Error) => void;

  constructor(kind: PendingKind) {
    this.#kind = kind;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  get isSampled(): boolean {
    return this.#kind.isSampled;
  }

  /** Takes an event's tokens. */
  take(event: SequenceEvent): void {
    const { ids, logprobs, entropies, topIds, topLogprobs, numReused, finish } = event;
    this.versionRuns = addToRuns(this.versionRuns, event);
    if (ids.length > 0) {
      const chunk = {
        ...{ ids, logprobs, numReused },
        entropies: this.#kind.hasEntropies ? entropies : undefined,
        ...(this.#kind.hasTop && { topIds, topLogprobs }),
      };
      this.#chunks.push(chunk);
      this.#kind.onChunk?.(chunk);
    }
    if (finish === undefined) this.#kind.onMore?.(ids);
  }

  /** Ends with the last event. */
  end(event: SequenceEvent, isClosed: boolean): void {
    if (isClosed) this.#reject(new SeekError("ERR_ABORTED", "sequence: closed while it generated"));
    else if (event.finish !== "failed") this.#resolve([this.#chunks, event]);
    else this.#reject(event.error ?? new SeekError("ERR_INTERNAL", "engine: a step failed"));
  }
}

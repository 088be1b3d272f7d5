/** An engine whose sequences record the ids that they are given and those that they sample. */
import type { Scores } from "../../lib/engine/span.ts";
import type {
  GeneratedSpan,
  GenerateRequest,
  OpenSequence,
  SequenceSource,
} from "../../lib/rollout/seams.ts";

/** One request for tokens. */
export interface Call {
  /** All that the sequence held when it was asked, `[T]`. */
  readonly context: Int32Array;
  /** What came, `[t]`. */
  readonly ids: Int32Array;
  readonly stop: GeneratedSpan["stop"];
  readonly request: GenerateRequest;
}

/** Remembers. */
export class Recording implements SequenceSource {
  /** In the order in which they ended. */
  readonly calls: Call[] = [];
  readonly #source: SequenceSource;

  constructor(source: SequenceSource) {
    this.#source = source;
  }

  get maxTokens(): number {
    return this.#source.maxTokens ?? Number.POSITIVE_INFINITY;
  }

  async open(promptIds: Int32Array, options: { readonly seed: number }): Promise<OpenSequence> {
    return new RecordedSequence(await this.#source.open(promptIds, options), [...promptIds], this.calls);
  }
}

class RecordedSequence implements OpenSequence {
  readonly #inner: OpenSequence;
  readonly #held: number[];
  readonly #calls: Call[];

  constructor(inner: OpenSequence, held: number[], calls: Call[]) {
    this.#inner = inner;
    this.#held = held;
    this.#calls = calls;
  }

  async generate(request: GenerateRequest): Promise<GeneratedSpan> {
    const context = Int32Array.from(this.#held);
    const span = await this.#inner.generate(request);
    const ids = Int32Array.from(span.ids);
    this.#held.push(...ids);
    this.#calls.push({ context, ids, stop: span.stop, request });
    return span;
  }

  async append(ids: Int32Array): Promise<void> {
    await this.#inner.append(ids);
    this.#held.push(...ids);
  }

  async truncate(length: number, options?: { readonly seed?: number }): Promise<void> {
    await this.#inner.truncate?.(length, options);
    this.#held.length = length;
  }

  async score(ids: Int32Array, options?: { readonly after?: number }): Promise<Pick<Scores, "logprobs">> {
    return (await this.#inner.score?.(ids, options)) ?? { logprobs: new Float32Array(ids.length) };
  }

  async fork(options: { readonly seed: number }): Promise<OpenSequence> {
    return new RecordedSequence(await this.#inner.fork(options), [...this.#held], this.#calls);
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }
}

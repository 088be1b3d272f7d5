/** The engine as one choice of an agent uses it: with the request's sampling, and all that it reads and samples counted. */
import type { SamplingOptions } from "../../../lib/engine/sampling-options.ts";
import type {
  GeneratedSpan,
  GenerateRequest,
  OpenSequence,
  SequenceSource,
  StreamedIds,
} from "../../../lib/rollout/seams.ts";

/** How a choice samples, and who is told. */
interface ChoiceOptions {
  readonly sampling: SamplingOptions;
  /** Sampled tokens of the whole choice. */
  readonly maxTokens: number;
  /** Called once the prompt is read, with its length and how much of it was not computed again. */
  readonly onStart: (numTokens: number, numReused: number) => void;
  /** Called once `maxTokens` are sampled. */
  readonly onSpent: () => void;
}

/** Opens sequences for one choice. */
export class ChoiceEngine implements SequenceSource {
  /** Tokens that were read: the prompt and observations. */
  numRead = 0;
  numSampled = 0;
  /** Of the weights that sampled the first token. */
  weightsVersion = 0;
  readonly #source: SequenceSource;
  readonly #options: ChoiceOptions;
  /** Length of a prompt whose reading is not told yet. */
  #numToStart: number | undefined;
  #isStarted = false;
  /** Of tokens that were sampled and not asked for yet. */
  #logprobs: number[] = [];

  constructor(source: SequenceSource, options: ChoiceOptions) {
    this.#source = source;
    this.#options = options;
  }

  /** The longest a sequence can grow, in tokens. */
  get maxTokens(): number {
    return this.#source.maxTokens ?? Number.POSITIVE_INFINITY;
  }

  /** The log-probabilities of the next sampled tokens; 0 for an engine that tells none. */
  takeLogprobs(count: number): number[] {
    const taken = this.#logprobs.slice(0, count);
    this.#logprobs = this.#logprobs.slice(count);
    return Array.from({ length: count }, (_, i) => taken[i] ?? 0);
  }

  async open(promptIds: Int32Array, options: { readonly seed: number }): Promise<OpenSequence> {
    this.#numToStart ??= promptIds.length;
    this.numRead += promptIds.length;
    return this.#watched(await this.#source.open(promptIds, options));
  }

  /** Optional abilities are those of the sequence. */
  #watched(inner: OpenSequence): OpenSequence {
    return {
      generate: (request) => this.#generate(inner, request),
      append: (ids) => {
        this.numRead += ids.length;
        return inner.append(ids);
      },
      fork: async (options) => this.#watched(await inner.fork(options)),
      close: () => inner.close(),
      ...(inner.stream && { stream: (request: GenerateRequest) => this.#stream(inner, request) }),
      ...(inner.truncate && { truncate: inner.truncate.bind(inner) }),
      ...(inner.score && { score: inner.score.bind(inner) }),
    };
  }

  async #generate(inner: OpenSequence, request: GenerateRequest): Promise<GeneratedSpan> {
    const span = await inner.generate(this.#asked(request));
    this.#take(span);
    return this.#ended(span);
  }

  async *#stream(
    inner: OpenSequence,
    request: GenerateRequest,
  ): AsyncGenerator<StreamedIds, GeneratedSpan, undefined> {
    const chunks = (inner.stream as NonNullable<OpenSequence["stream"]>).call(inner, this.#asked(request));
    for (;;) {
      const { value, done } = await chunks.next();
      if (done) return this.#ended(value);
      this.#take(value);
      yield value;
    }
  }

  #asked(request: GenerateRequest): GenerateRequest {
    const left = this.#options.maxTokens - this.numSampled;
    return {
      ...request,
      ...this.#options.sampling,
      maxTokens: Math.min(request.maxTokens, left),
    } as GenerateRequest;
  }

  /** Tells that the prompt is read, where nobody was told. */
  start(numReused = 0): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#options.onStart(this.#numToStart ?? 0, numReused);
  }

  #take({ ids, logprobs, numReused }: StreamedIds): void {
    this.start(numReused);
    this.numSampled += ids.length;
    for (const i of ids.keys()) this.#logprobs.push(logprobs?.[i] ?? 0);
  }

  #ended(span: GeneratedSpan): GeneratedSpan {
    if (this.numSampled === span.ids.length) this.weightsVersion = span.weightsVersion;
    if (this.numSampled >= this.#options.maxTokens) this.#options.onSpent();
    return span;
  }
}

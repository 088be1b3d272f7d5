/** Listening to a policy while it speaks. */
import type { GeneratedSpan, GenerateRequest, OpenSequence, SequenceSource } from "../seams.ts";

/** A sequence that gives its tokens as they come. */
interface Streaming {
  stream(options: GenerateRequest): AsyncGenerator<{ readonly ids: Int32Array }, GeneratedSpan>;
}

/** Who is told what. */
export interface Listener {
  /** Ids as they are sampled; of a source that does not stream, a whole turn at once. */
  onTokens(ids: Int32Array): void;
  /** The turn is over. */
  onTurn(): void;
}

/**
 * The same source, its policy overheard. It does not change what is sampled.
 *
 * @param source - an engine, or a server in its place
 * @param listener - is told of every sequence that is opened from here on
 * @returns a source for any agent
 * @example
 * const heard: number[] = [];
 * const listener = { onTokens: (ids: Int32Array) => void heard.push(...ids), onTurn: () => {} };
 * const sequence = await overheard(engine, listener).open(Int32Array.of(65, 66), { seed: 1 });
 * const { ids } = await sequence.generate({ maxTokens: 4, stop: [] });
 * assert.deepEqual(heard, [...ids]);
 * await sequence.close();
 */
export function overheard(source: SequenceSource, listener: Listener): SequenceSource {
  return {
    maxTokens: source.maxTokens,
    open: async (promptIds, options) => {
      const sequence = await source.open(promptIds, options);
      const plain = sequence.generate.bind(sequence);
      const generate = (request: GenerateRequest): Promise<GeneratedSpan> =>
        isStreaming(sequence) ? hear(sequence, request, listener) : tell(plain, request, listener);
      // On the sequence itself, which may be able to do more than this knows of.
      return Object.assign(sequence, { generate });
    },
  };
}

function isStreaming(sequence: OpenSequence): sequence is OpenSequence & Streaming {
  return "stream" in sequence;
}

async function hear(
  sequence: Streaming,
  request: GenerateRequest,
  listener: Listener,
): Promise<GeneratedSpan> {
  const chunks = sequence.stream(request);
  for (;;) {
    const { value, done } = await chunks.next();
    if (done) {
      listener.onTurn();
      return value;
    }
    listener.onTokens(value.ids);
  }
}

async function tell(
  generate: (request: GenerateRequest) => Promise<GeneratedSpan>,
  request: GenerateRequest,
  listener: Listener,
): Promise<GeneratedSpan> {
  const span = await generate(request);
  listener.onTokens(span.ids);
  listener.onTurn();
  return span;
}

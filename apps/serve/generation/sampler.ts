/** Samples choices on the engine, as text with its tokens. */
import { merged } from "../../../lib/base/streamed.ts";
import type { Engine } from "../../../lib/engine/engine.ts";
import type { Sequence } from "../../../lib/engine/sequence.ts";
import type { GenerateOptions, Span, SpanChunk } from "../../../lib/engine/span.ts";
import type { Adapter } from "../../../lib/model/adapter.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { Refusal } from "../http/refusal.ts";
import type { SampleRequest } from "../reply/reply.ts";
import type { LikelyToken, SampledToken, TextPiece } from "../reply/tokens.ts";
import type { Admission } from "./admission.ts";
import { asRefusal } from "./as-refusal.ts";
import { TokenText } from "./token-text.ts";

/** What is sampled with. */
export interface SamplerParts {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  /** What is sampled through. @default the adapter that the engine was opened with */
  readonly adapter?: Adapter | undefined;
  readonly admission: Admission;
}

/** What is sampled. */
interface SampledPrompt extends SampleRequest {
  readonly promptIds: Int32Array;
  /** Tokens that are no text and are written all the same, as they are spelt: marks such as `<|python_tag|>`. */
  readonly keptIds: ReadonlySet<number>;
  /** Whether the prompt's tokens are told too, where log-probabilities are. @default false */
  readonly echo?: boolean | undefined;
}

/** What every choice of a prompt has. */
interface SharedPrompt extends SampledPrompt {
  readonly maxTokens: number;
  readonly promptTokens: readonly SampledToken[] | undefined;
}

/** A piece of a choice. */
export type SampleEvent = { readonly choice: number } & (
  | {
      readonly type: "start";
      readonly numCachedTokens: number;
      readonly promptTokens?: readonly SampledToken[] | undefined;
    }
  | ({ readonly type: "text" } & TextPiece)
  | {
      readonly type: "end";
      readonly stop: Span["stop"];
      readonly stopText: string | undefined;
      /** Those that are no text: what ended it. */
      readonly tokens: readonly SampledToken[];
      readonly numTokens: number;
      readonly weightsVersion: number;
      readonly drawnFrom: "policy" | "shaped";
    }
);

/** Samples on one engine through one adapter. */
export class Sampler {
  readonly #parts: SamplerParts;

  constructor(parts: SamplerParts) {
    this.#parts = parts;
  }

  /**
   * Samples all choices of a prompt at once.
   *
   * @param asked - the prompt, and how it goes on
   * @param signal - ends it, and gives its memory back
   * @returns pieces of all choices, mixed
   * @throws Refusal for a prompt that is too long, options out of range, and when too many requests wait
   */
  async *sample(asked: SampledPrompt, signal: AbortSignal): AsyncGenerator<SampleEvent, void, undefined> {
    const maxTokens = this.#room(asked);
    const need = { numPromptTokens: asked.promptIds.length, maxTokens, n: asked.n };
    const leave = await this.#parts.admission.enter(need, signal);
    try {
      const promptTokens = await this.#promptTokens(asked);
      const events = this.#all({ ...asked, maxTokens: Math.max(1, maxTokens), promptTokens }, signal);
      yield* maxTokens === 0 ? promptAlone(events) : events;
      if (signal.aborted) throw signal.reason;
    } catch (error) {
      throw asRefusal(error);
    } finally {
      leave();
    }
  }

  /** Most tokens that a choice can have. @throws Refusal for a prompt that leaves no room */
  #room({ promptIds, maxTokens = Number.POSITIVE_INFINITY }: SampledPrompt): number {
    const { engine } = this.#parts;
    const room = engine.maxTokens - promptIds.length;
    if (room >= 1) return Math.min(room, maxTokens);
    const message = `prompt: expected fewer than ${engine.maxTokens} tokens, got ${promptIds.length}`;
    throw new Refusal("context_length_exceeded", message);
  }

  /** No faster than they are taken: a reader who is behind is told several tokens at once. */
  async *#all(asked: SharedPrompt, signal: AbortSignal): AsyncGenerator<SampleEvent, void, undefined> {
    const { engine, adapter } = this.#parts;
    const { promptIds, seed, n } = asked;
    const first = engine.open(promptIds, { adapter, seed });
    const sequences = [first];
    try {
      for (let i = 1; i < n; i++) {
        sequences.push(first.fork({ seed: seed === undefined ? undefined : seed + i }));
      }
      yield* merged(sequences.map((sequence, choice) => this.#one(sequence, { ...asked, choice }, signal)));
    } finally {
      for (const sequence of sequences) sequence.close();
    }
  }

  async *#one(
    sequence: Sequence,
    asked: SharedPrompt & { readonly choice: number },
    signal: AbortSignal,
  ): AsyncGenerator<SampleEvent, void, undefined> {
    const { choice, promptIds, promptTokens, keptIds, stop } = asked;
    const { tokenizer, admission } = this.#parts;
    const text = new TokenText(tokenizer, {
      ...{ stop, keptIds, endIds: new Set(tokenizer.eosIds), lastPromptId: promptIds.at(-1) },
    });
    const chunks = sequence.stream(optionsOf(asked, signal), admission.turns);
    // What was ended has no end of its own, and is no reply.
    const nextStep = async (): ReturnType<typeof chunks.next> => {
      const step = await chunks.next();
      if (step.done && step.value.stop === "aborted") throw signal.reason;
      return step;
    };
    let [step, numTokens] = [await nextStep(), 0];
    await admission.turns.begin();
    const numCachedTokens = step.value.numReused;
    yield { type: "start", choice, numCachedTokens, promptTokens };
    for (; !step.done; step = await nextStep()) {
      numTokens += step.value.ids.length;
      const piece = text.push(this.#tokensOf(step.value, asked.topLogprobs));
      if (piece.text !== "" || piece.tokens.length > 0) yield { type: "text", choice, ...piece };
    }
    const { stop: why, stopText, weightsVersion } = step.value;
    const drawnFrom = isPolicys(step.value, asked) ? "policy" : "shaped";
    const { piece, rest } = text.end(stopText);
    if (piece.text !== "" || piece.tokens.length > 0) yield { type: "text", choice, ...piece };
    yield { type: "end", choice, stop: why, stopText, tokens: rest, numTokens, weightsVersion, drawnFrom };
  }

  /** The prompt with its log-probabilities; those of the first token are none. */
  async #promptTokens({ promptIds, echo, topLogprobs }: SampledPrompt): Promise<SampledToken[] | undefined> {
    if (echo !== true || topLogprobs === undefined) return undefined;
    const { engine, adapter } = this.#parts;
    using sequence = engine.open(promptIds.subarray(0, 1), { adapter });
    const ids = promptIds.subarray(1);
    const scores = await sequence.score(ids, { topLogprobs });
    const first = {
      id: promptIds[0] as number,
      logprob: Number.NaN,
      bytes: this.#bytesOf(promptIds[0] as number),
    };
    return [first, ...this.#tokensOf({ ids, ...scores }, topLogprobs)];
  }

  #bytesOf(id: number): Uint8Array {
    return this.#parts.tokenizer.pieces.bytes(id);
  }

  #tokensOf(
    { ids, logprobs, topIds, topLogprobs }: Pick<SpanChunk, "ids" | "logprobs" | "topIds" | "topLogprobs">,
    numTop = 0,
  ): SampledToken[] {
    const likely = (at: number): LikelyToken => {
      const id = topIds?.[at] as number;
      return { id, logprob: topLogprobs?.[at] as number, bytes: this.#bytesOf(id) };
    };
    return Array.from(ids, (id, i) => ({
      ...{ id, logprob: logprobs[i] as number, bytes: this.#bytesOf(id) },
      ...(numTop > 0 ? { top: Array.from({ length: numTop }, (_, k) => likely(i * numTop + k)) } : {}),
    }));
  }
}

/** The reply of no tokens: one is sampled all the same, so that the prompt is read and kept, and is not told. */
async function* promptAlone(
  events: AsyncGenerator<SampleEvent, void, undefined>,
): AsyncGenerator<SampleEvent, void, undefined> {
  const none = { stop: "length", stopText: undefined, tokens: [], numTokens: 0 } as const;
  for await (const event of events) {
    if (event.type === "start") yield event;
    else if (event.type === "end") yield { ...event, ...none };
  }
}

/** Whether a span can be learnt from: the trainer's log-probabilities are those of temperature 1. */
function isPolicys({ drawnFrom, isApproximate }: Span, { sampling }: SharedPrompt): boolean {
  return drawnFrom === "policy" && !isApproximate && (sampling.temperature ?? 1) === 1;
}

function optionsOf(
  { maxTokens, stop, sampling, constraint, topLogprobs = 0 }: SharedPrompt,
  signal: AbortSignal,
): GenerateOptions {
  return { ...sampling, maxTokens, stop, constraint, topLogprobs, signal };
}

/** One conversation with the model: opened with a prompt, generated and answered turn by turn, kept as segments. */

import type { Limits } from "../limits.ts";
import type { GeneratedSpan, Sampling, TextCodec, TokenSequence } from "../seams.ts";
import type { Segment } from "../trajectory.ts";

/** What the model wrote in one turn. */
export interface Said {
  readonly text: string;
  readonly ids: Int32Array;
  /** Natural, one per id. */
  readonly logprobs: Float32Array;
  /** `context` when there was no room for a turn. */
  readonly stop: GeneratedSpan["stop"] | "context";
}

/** What a conversation needs besides its sequence. */
export interface TalkParts {
  readonly tokenizer: TextCodec;
  readonly limits: Limits;
  readonly sampling: Sampling;
  readonly signal?: AbortSignal | undefined;
}

const nothing = { text: "", ids: new Int32Array(), logprobs: new Float32Array() };

/** A conversation over a sequence that holds its opening; without a sequence there is no room for a turn. */
export class Talk {
  readonly segments: Segment[];
  /** Turns so far. */
  turns = 0;
  generateMs = 0;
  weightsVersion: number | undefined;
  lastStop: Said["stop"] | undefined;
  readonly #sequence: TokenSequence | undefined;
  readonly #parts: TalkParts;

  constructor(sequence: TokenSequence | undefined, opening: readonly Segment[], parts: TalkParts) {
    this.#sequence = sequence;
    this.segments = [...opening];
    this.#parts = parts;
  }

  get #room(): number {
    const used = this.segments.reduce((sum, { tokens }) => sum + tokens.length, 0);
    return this.#parts.limits.maxTokens - used;
  }

  /**
   * Lets the model write until one of `ends` is complete, or until its turn ends otherwise.
   *
   * @throws whatever the sequence throws
   */
  async say(ends: readonly string[]): Promise<Said> {
    const said = await this.#generate(ends);
    this.lastStop = said.stop;
    return said;
  }

  async #generate(ends: readonly string[]): Promise<Said> {
    const { limits, sampling, signal, tokenizer } = this.#parts;
    if (signal?.aborted) return { ...nothing, stop: "aborted" };
    if (this.#sequence === undefined || this.#room <= 0) return { ...nothing, stop: "context" };
    const started = performance.now();
    const { ids, logprobs, stop, weightsVersion } = await this.#sequence.generate({
      ...sampling,
      maxTokens: Math.min(limits.maxResponseTokens, this.#room),
      stop: ends,
      signal,
    });
    this.generateMs += performance.now() - started;
    this.turns += 1;
    this.weightsVersion ??= weightsVersion;
    const text = tokenizer.decode(ids);
    this.segments.push({ kind: "policy", tokens: ids, logprobs, text });
    return { text, ids, logprobs, stop };
  }

  /** Tells the model something; without room for it the next turn says so. */
  async hear(text: string): Promise<void> {
    // Other people's text: a spelled-out end-of-turn mark in it must stay text.
    const tokens = this.#parts.tokenizer.encode(text, { parseSpecialTokens: false });
    if (this.#sequence !== undefined && tokens.length < this.#room) await this.#sequence.append(tokens);
    this.segments.push({ kind: "observation", tokens, text });
  }
}

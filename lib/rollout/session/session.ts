/** One conversation with the model. What its sequence holds and what is recorded are the same ids at any time (law 1). */
import { checkOptions, type OptionKinds, shownValue } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { mixSeed } from "../../base/random.ts";
import { Detokenizer } from "../../text/tokenizers/detokenizer.ts";
import type { Tokenizer } from "../../text/tokenizers/tokenizer.ts";
import type { Limits } from "../limits.ts";
import type {
  GeneratedSpan,
  GenerateRequest,
  PromptTemplate,
  Sampling,
  TextCodec,
  TokenSequence,
} from "../seams.ts";
import type { Segment } from "../trajectory.ts";
import type { EventOptions, TurnStop } from "./events.ts";
import { encodeTurn, turnMarksOf } from "./turn-marks.ts";

/** What the model wrote in one turn. */
export interface Turn extends Pick<GeneratedSpan, "ids" | "logprobs" | "entropies"> {
  readonly text: string;
  /** `context` when there was no room for a turn. */
  readonly stop: TurnStop;
  /** Its number among the session's segments. */
  readonly segment: number;
}

/** How a turn is generated. */
export interface TurnOptions {
  /** The turn ends when one of these is complete. @default where the model ends it */
  readonly stop?: readonly string[];
  /** @default the limit of a turn */
  readonly maxTokens?: number;
  /** Whether entropies are wanted. @default false */
  readonly entropies?: boolean;
  /** See {@link Segment}. */
  readonly visible?: readonly number[];
  /** Ends the turn early, and not the session. */
  readonly signal?: AbortSignal | undefined;
}

const turnKinds: OptionKinds<TurnOptions> = {
  ...{ stop: "list", maxTokens: "number", entropies: "boolean", visible: "list" },
  signal: "signal",
};

/** What a session needs besides its sequence. */
interface SessionParts extends EventOptions {
  readonly tokenizer: TextCodec;
  readonly chatTemplate?: PromptTemplate | undefined;
  /** Begins each turn of the model that follows a message. */
  readonly prefix: string;
  readonly limits: Limits;
  readonly sampling: Sampling;
  readonly signal?: AbortSignal | undefined;
  /** Of the sequence; the draws after a cut follow from it too. */
  readonly seed: number;
  /** Counts the sessions of a rollout. */
  readonly index: number;
}

/** A sequence that holds its opening, and the record of it. */
export class Session {
  readonly segments: Segment[];
  /** Turns so far. */
  turns = 0;
  /** Tokens that the sequence holds, and the most that it has held. */
  numTokens: number;
  peakTokens: number;
  generateMs = 0;
  /** Of the weights that sampled the first token. */
  weightsVersion: number | undefined;
  lastStop: TurnStop | undefined;
  readonly sequence: TokenSequence;
  readonly #parts: SessionParts;
  #isFull = false;
  #numCuts = 0;
  #lastId: number | undefined;

  /** Use `Rollout.open`. @internal */
  constructor(sequence: TokenSequence, opening: readonly Segment[], parts: SessionParts) {
    this.sequence = sequence;
    this.segments = [...opening];
    this.#parts = parts;
    this.numTokens = countTokens(opening);
    this.peakTokens = this.numTokens;
  }

  /** Why no turn can begin, if none can. */
  get ended(): "aborted" | "context" | undefined {
    if (this.#parts.signal?.aborted) return "aborted";
    return this.#isFull || this.numTokens >= this.#parts.limits.maxTokens ? "context" : undefined;
  }

  /**
   * Lets the model write until its turn ends.
   *
   * @param options - stop strings, tokens
   * @returns the turn; an empty one that says why when there is no room for it
   * @throws ERR_ARGUMENT for an unknown option; whatever the sequence throws
   */
  async generate(options: TurnOptions = {}): Promise<Turn> {
    checkOptions("session.generate", options, turnKinds);
    const { ended } = this;
    if (ended !== undefined) {
      this.lastStop = ended;
      return { text: "", ids: new Int32Array(), logprobs: new Float32Array(), stop: ended, segment: -1 };
    }
    const { limits, sampling, tokenizer, onEvent, index } = this.#parts;
    const signals = [this.#parts.signal, options.signal].filter((each) => each !== undefined);
    const signal = signals.length > 1 ? AbortSignal.any(signals) : signals[0];
    const { stop = [], maxTokens = limits.maxResponseTokens, entropies, visible } = options;
    const room = limits.maxTokens - this.numTokens;
    const started = performance.now();
    const span = await this.#sample({
      ...sampling,
      ...{ maxTokens: Math.min(maxTokens, room), stop, entropies, signal },
    });
    this.generateMs += performance.now() - started;
    this.turns += 1;
    this.weightsVersion ??= span.weightsVersion;
    this.lastStop = span.stop;
    const { ids: tokens, isApproximate, weightsVersion } = span;
    const { versionRuns = [{ weightsVersion, numTokens: tokens.length }] } = span;
    const text = tokenizer.decode(tokens);
    const logprobs = isApproximate ? undefined : span.logprobs;
    this.#record({ kind: "policy", tokens, logprobs, versionRuns, text, visible });
    onEvent?.({ type: "turn", text, stop: span.stop, session: index });
    return { ...span, text, segment: this.segments.length - 1 };
  }

  /**
   * Adds a text that the model reads before its next turn. It is never trained, and a special mark that is spelled out in
   * it stays text.
   *
   * @param text - of a tool, a search, a user
   * @param options - `asMessage` puts it into the chat template's marks of a user's message, `@default` false
   * @returns whether it was added; without room for it the session has ended
   * @throws ERR_ARGUMENT for anything but a text; whatever the sequence throws
   */
  async append(text: string, options: { readonly asMessage?: boolean } = {}): Promise<boolean> {
    if (typeof text !== "string")
      throw new SeekError("ERR_ARGUMENT", `session.append: expected a text, got ${shownValue(text)}`);
    checkOptions("session.append", options, { asMessage: "boolean" });
    const { tokenizer, limits } = this.#parts;
    const marks = options.asMessage ? this.#marks() : undefined;
    const { tokens, text: written } = encodeTurn(tokenizer, text, { marks, lastId: this.#lastId });
    if (this.ended !== undefined) return false;
    this.#isFull = this.numTokens + tokens.length >= limits.maxTokens;
    if (this.#isFull) return false;
    await this.sequence.append(tokens);
    this.#record({ kind: "observation", tokens, text: written });
    return true;
  }

  /** Takes segments off the end of the sequence and puts others there that were recorded before: the same ids. */
  async replace(forgotten: readonly Segment[], again: readonly Segment[]): Promise<void> {
    this.numTokens -= countTokens(forgotten);
    this.#numCuts += 1;
    // A seed of its own: the chances of the forgotten draws must not return at their positions.
    const seed = mixSeed(this.#parts.seed, "cut", this.#numCuts);
    await this.sequence.truncate?.(this.numTokens, { seed });
    for (const { tokens } of again) await this.sequence.append(tokens);
    this.#lastId = again.at(-1)?.tokens.at(-1);
    this.numTokens += countTokens(again);
  }

  #marks() {
    const { chatTemplate, prefix } = this.#parts;
    if (chatTemplate === undefined) return undefined;
    const { before, after } = turnMarksOf(chatTemplate);
    return { before, after: after + prefix };
  }

  /** Tells of the tokens: as they come where that is wanted and the sequence can. */
  async #sample(request: GenerateRequest): Promise<GeneratedSpan> {
    const { tokenizer, onEvent, isStreamed = false, index } = this.#parts;
    if (!isStreamed || this.sequence.stream === undefined) {
      const span = await this.sequence.generate(request);
      onEvent?.({ type: "text", text: tokenizer.decode(span.ids), ids: span.ids, session: index });
      return span;
    }
    const detokenizer = "pieces" in tokenizer ? new Detokenizer(tokenizer as Tokenizer) : undefined;
    const chunks = this.sequence.stream(request);
    for (;;) {
      const { value, done } = await chunks.next();
      const ids = done ? new Int32Array() : value.ids;
      const text = (done ? detokenizer?.flush() : detokenizer?.push(ids)) ?? tokenizer.decode(ids);
      if (!done || text !== "") onEvent?.({ type: "text", text, ids, session: index });
      if (done) return value;
    }
  }

  #record(segment: Segment): void {
    this.segments.push(segment);
    this.#lastId = segment.tokens.at(-1) ?? this.#lastId;
    this.numTokens += segment.tokens.length;
    this.peakTokens = Math.max(this.peakTokens, this.numTokens);
  }
}

/** Tokens of segments. */
export function countTokens(segments: readonly Pick<Segment, "tokens">[]): number {
  return segments.reduce((sum, { tokens }) => sum + tokens.length, 0);
}

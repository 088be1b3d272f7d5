/** One choice of a reply, read while it is sampled. */
import type { SampleEvent } from "../generation/sampler.ts";
import type { ReplyReader } from "../reading/reply-reader.ts";
import type { ReplyEvent } from "../reply/reply.ts";
import type { SampledToken, TextPiece } from "../reply/tokens.ts";

/** What was sampled of a choice, and its end. */
type Sampled = Exclude<SampleEvent, { readonly type: "start" }>;

/** A continued text: nothing in it is read as something else. */
export function* plainPiece(event: Sampled): Generator<ReplyEvent, void, undefined> {
  if (event.type === "text") return yield event;
  const { stop, ...end } = event;
  const reason = stop === "length" ? "length" : "stop";
  yield { ...end, type: "finish", reason, numReasoningTokens: 0 };
}

/** Turns a choice's sampled text into reasoning, text and calls. */
export class ReadChoice {
  readonly #reader: ReplyReader<SampledToken>;
  #numReasoningTokens = 0;
  #hasCalls = false;

  constructor(reader: ReplyReader<SampledToken>) {
    this.#reader = reader;
  }

  /** Takes what was sampled next. @returns what is decided by it */
  *read(event: Sampled): Generator<ReplyEvent, void, undefined> {
    if (event.type === "text") return yield* this.#told(event.choice, event);
    const { stop, ...end } = event;
    yield* this.#told(event.choice);
    const reason = stop === "length" ? "length" : this.#hasCalls ? "tool_calls" : "stop";
    yield { ...end, type: "finish", reason, numReasoningTokens: this.#numReasoningTokens };
  }

  /** A piece of the text, or its end. */
  *#told(choice: number, piece?: TextPiece): Generator<ReplyEvent, void, undefined> {
    for (const read of piece === undefined ? this.#reader.end() : this.#reader.push(piece)) {
      if (read.type === "reasoning") this.#numReasoningTokens += read.tokens.length;
      if (read.type === "toolCall") this.#hasCalls = true;
      yield { ...read, choice };
    }
  }
}

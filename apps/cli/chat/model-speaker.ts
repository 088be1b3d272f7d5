/** A model of this machine that answers in a chat; each turn reads only what is new. */
import type { Engine } from "../../../lib/engine/engine.ts";
import type { OpenOptions } from "../../../lib/engine/engine-options.ts";
import type { Sequence } from "../../../lib/engine/sequence.ts";
import type { GenerateOptions, Span } from "../../../lib/engine/span.ts";
import type { ChatTemplate } from "../../../lib/text/templates/chat-template.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import { openDetokenizer } from "../open/local-policy.ts";
import type { ChatMessage, Reply, Speaker } from "./speaker.ts";

/** What a speaker is made of. */
interface ModelParts {
  readonly engine: Engine;
  readonly tokenizer: Tokenizer;
  readonly chatTemplate: ChatTemplate;
}

/** How it answers. */
interface ModelOptions extends OpenOptions {
  /** Without a signal. */
  readonly generate: GenerateOptions;
}

/** One sequence of the engine for a whole conversation. */
export class ModelSpeaker implements Speaker {
  readonly #parts: ModelParts;
  readonly #options: ModelOptions;
  #sequence: Sequence | undefined;
  /** What the sequence's tokens say. */
  #text = "";

  constructor(parts: ModelParts, options: ModelOptions) {
    this.#parts = parts;
    this.#options = options;
  }

  async *reply(
    messages: readonly ChatMessage[],
    signal: AbortSignal,
  ): AsyncGenerator<string, Reply, undefined> {
    const { tokenizer, chatTemplate } = this.#parts;
    const prompt = chatTemplate.render(
      messages.map((message) => ({ ...message })),
      { addGenerationPrompt: true },
    );
    const sequence = this.#read(prompt);
    let span: Span | undefined;
    try {
      const shown = await openDetokenizer(tokenizer);
      const chunks = sequence.stream({ ...this.#options.generate, signal });
      let content = "";
      while (span === undefined) {
        const { value, done } = await chunks.next();
        const text = done ? shown.flush() : shown.push(this.#withoutEnd(value.ids));
        content += text;
        yield text;
        if (done) span = value;
      }
      this.#text = prompt + tokenizer.decode(span.ids);
      return { content, note: this.#noteOf(span) };
    } finally {
      // What failed on the way leaves tokens whose text is not known.
      if (span === undefined) this.close();
    }
  }

  /** Gives the sequence back; the next reply reads the whole conversation. */
  close(): void {
    this.#sequence?.close();
    this.#sequence = undefined;
    this.#text = "";
  }

  /**
   * The conversation's sequence, brought to a prompt. What was sampled stays as it was sampled where the prompt goes on from
   * it, letter for letter; a template that writes earlier turns in another way is read anew from there on.
   */
  #read(prompt: string): Sequence {
    const { engine, tokenizer } = this.#parts;
    const { generate: _, ...opening } = this.#options;
    this.#sequence ??= engine.open([], opening);
    const sequence = this.#sequence;
    if (prompt.startsWith(this.#text)) {
      sequence.append(tokenizer.encode(prompt.slice(this.#text.length)));
    } else {
      const ids = tokenizer.encode(prompt);
      const known = sequence.tokens;
      const other = ids.findIndex((id, i) => id !== known[i]);
      const common = other < 0 ? ids.length : other;
      sequence.truncate(Math.min(common, known.length));
      sequence.append(ids.subarray(common));
    }
    this.#text = prompt;
    return sequence;
  }

  #withoutEnd(ids: Int32Array): Int32Array {
    const { eosIds } = this.#parts.tokenizer;
    return ids.filter((id) => !eosIds.includes(id));
  }

  #noteOf({ stop, ids }: Span): string | undefined {
    const { maxTokens } = this.#options.generate;
    if (stop === "aborted") return "stopped";
    if (stop !== "length") return undefined;
    if (ids.length >= maxTokens) return `cut off by --max-tokens ${maxTokens}`;
    return `the context of ${this.#parts.engine.maxTokens} tokens is full; /clear begins anew`;
  }
}

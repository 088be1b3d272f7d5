/** A sequence of the engine whose next turn is written instead of sampled, so that a conversation searches, answers and ends. */

import type { Scores } from "../../lib/engine/span.ts";
import type { Format } from "../../lib/rollout/formats/format.ts";
import type {
  GeneratedSpan,
  GenerateRequest,
  OpenSequence,
  SequenceSource,
} from "../../lib/rollout/seams.ts";
import type { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { kChatMarks } from "../world/prompt.ts";
import { type SpokenTurns, spokenTurns } from "../world/recipes/world-speech.ts";

/** The turns of the first family that a format understands; undefined when it understands none. */
export function turnsFor(format: Format): SpokenTurns | undefined {
  return Object.values(spokenTurns)
    .map(({ search, answer }): SpokenTurns => {
      return { search, answer: (thought, text) => answer(thought, text).replace(kChatMarks.end, "") };
    })
    .find(({ search, answer }) => {
      const asked = format.parse(search(" why", ["lint"]), format);
      const said = format.parse(answer(" so", "lint"), format);
      const isSearch = asked.kind === "search" && asked.queries[0] === "lint";
      return isSearch && (said.kind === "answer" || said.kind === "end") && said.answer?.trim() === "lint";
    });
}

/** What one turn says; `isEnded` closes it with the id that ends a text. */
export interface WrittenTurn {
  readonly text: string;
  readonly isEnded?: boolean;
}

/**
 * An engine that says given turns in place of sampled ones. Its sequences are the engine's own: they read the prompt, the
 * turns and the observations. Once the turns are over, each further one is nothing but the end of a text.
 *
 * @param engine - whose sequences hold the conversation
 * @param tokenizer - of the turns
 * @param turns - one for each request
 * @returns an engine; log-probabilities and entropies of its tokens are all 0
 */
export function writtenSource(
  engine: SequenceSource,
  tokenizer: Tokenizer,
  turns: readonly WrittenTurn[],
): SequenceSource {
  const { maxTokens = Number.POSITIVE_INFINITY } = engine;
  return {
    maxTokens,
    open: async (ids, options) => new WrittenSequence(await engine.open(ids, options), tokenizer, turns),
  };
}

class WrittenSequence implements OpenSequence {
  readonly #inner: OpenSequence;
  readonly #tokenizer: Tokenizer;
  readonly #turns: WrittenTurn[];

  constructor(inner: OpenSequence, tokenizer: Tokenizer, turns: readonly WrittenTurn[]) {
    this.#inner = inner;
    this.#tokenizer = tokenizer;
    this.#turns = [...turns];
  }

  async generate({ stop, maxTokens }: GenerateRequest): Promise<GeneratedSpan> {
    const { text, isEnded = false } = this.#turns.shift() ?? { text: "", isEnded: true };
    const [end] = this.#tokenizer.eosIds;
    const said = [...this.#tokenizer.encode(text), ...(isEnded && end !== undefined ? [end] : [])];
    const ids = Int32Array.from(said.slice(0, maxTokens));
    await this.#inner.append(ids);
    const isWhole = ids.length === said.length;
    const isStopped = isWhole && stop.some((each) => text.includes(each));
    const ended = ids.at(-1) === end ? "eos" : isStopped ? "stop" : "length";
    const zeros = new Float32Array(ids.length);
    return { ids, logprobs: zeros, entropies: zeros, stop: ended, weightsVersion: 0 };
  }

  append(ids: Int32Array): void | Promise<void> {
    return this.#inner.append(ids);
  }

  async truncate(length: number, options?: { readonly seed?: number }): Promise<void> {
    await this.#inner.truncate?.(length, options);
  }

  async score(ids: Int32Array, options?: { readonly after?: number }): Promise<Pick<Scores, "logprobs">> {
    return (await this.#inner.score?.(ids, options)) ?? { logprobs: new Float32Array(ids.length) };
  }

  async fork(options: { readonly seed: number }): Promise<OpenSequence> {
    return new WrittenSequence(await this.#inner.fork(options), this.#tokenizer, this.#turns);
  }

  close(): void | Promise<void> {
    return this.#inner.close();
  }
}

/** How many tokens a reply took. */
import type { ReplyEvent } from "../../reply/reply.ts";

/** Counts tokens over the events of a reply. */
export class Usage {
  readonly #numChoices: number;
  /** Of the prompt, which its choices share, and of what agents read. */
  numPrompt = 0;
  /** Those of them that were not computed again. */
  numCached = 0;
  /** Sampled, over all choices. */
  numSampled = 0;
  /** Those of them that are thoughts. */
  numReasoning = 0;
  #numAtStart = 0;

  /** @param numChoices - of each prompt; further ones are another prompt's. @default there is one prompt */
  constructor(numChoices = Number.POSITIVE_INFINITY) {
    this.#numChoices = numChoices;
  }

  /** Takes the next event. */
  add(event: ReplyEvent): void {
    if (event.type === "start" && event.choice % this.#numChoices === 0) {
      this.numPrompt += event.numPromptTokens;
      this.#numAtStart = event.numPromptTokens;
      this.numCached += event.numCachedTokens;
    }
    if (event.type !== "finish") return;
    // What a choice of an agent has read since its prompt is its own.
    this.numPrompt += (event.numPromptTokens ?? this.#numAtStart) - this.#numAtStart;
    this.numSampled += event.numTokens;
    this.numReasoning += event.numReasoningTokens;
  }

  /** As OpenAI's completions write it. */
  toJSON() {
    return {
      prompt_tokens: this.numPrompt,
      completion_tokens: this.numSampled,
      total_tokens: this.numPrompt + this.numSampled,
      prompt_tokens_details: { cached_tokens: this.numCached },
      completion_tokens_details: { reasoning_tokens: this.numReasoning },
    };
  }
}

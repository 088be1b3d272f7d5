/** One choice of a completion, and its log-probabilities as OpenAI's older protocol writes them. */
import type { FinishReason, ReplyEvent } from "../../reply/reply.ts";
import type { SampledToken } from "../../reply/tokens.ts";
import { finite } from "../fields/logprobs.ts";

const utf8 = new TextDecoder();

const spelled = ({ bytes }: { readonly bytes: Uint8Array }): string => utf8.decode(bytes);

/** JSON has no NaN: the first token of a prompt follows nothing. */
const told = (logprob: number): number | null => (Number.isNaN(logprob) ? null : finite(logprob));

/**
 * Lists over the tokens.
 *
 * @param tokens - in order
 * @param offset - characters before the first one
 */
export function completionLogprobs(tokens: readonly SampledToken[], offset: number) {
  const offsets: number[] = [];
  let end = offset;
  for (const token of tokens) {
    offsets.push(end);
    end += spelled(token).length;
  }
  return {
    tokens: tokens.map(spelled),
    token_logprobs: tokens.map(({ logprob }) => told(logprob)),
    top_logprobs: tokens.map(({ top, logprob }) =>
      Number.isNaN(logprob)
        ? null
        : Object.fromEntries((top ?? []).map((each) => [spelled(each), told(each.logprob)])),
    ),
    text_offset: offsets,
  };
}

/** What of a completion is told besides its text. */
export interface CompletionTelling {
  readonly logprobs: boolean;
  /** Then log-probabilities are those of all ids, of tokens that are no text too. */
  readonly ids: boolean;
  /** The prompt's text, which stands before each choice's where `echo` asks for it. */
  readonly echoed: string;
}

/** Why a choice ended, in the words of this protocol. */
export function endOf(reason: FinishReason, stopText: string | undefined) {
  return { finish_reason: reason === "length" ? "length" : "stop", stop_reason: stopText ?? null };
}

/** Gathers a choice. */
export class CompletionChoice {
  readonly #index: number;
  readonly #told: CompletionTelling;
  #text = "";
  readonly #tokens: SampledToken[] = [];
  readonly #textTokens: SampledToken[] = [];
  #promptIds: readonly number[] = [];
  #weightsVersion = 0;
  #end: object = {};

  constructor(index: number, telling: CompletionTelling) {
    this.#index = index;
    this.#told = telling;
    this.#text = telling.echoed;
  }

  /** Takes the choice's next event. */
  add(event: ReplyEvent): void {
    if (event.type === "start") {
      this.#promptIds = [...(event.promptIds ?? [])];
      this.#textTokens.push(...(event.promptTokens ?? []));
    }
    if ("tokens" in event) this.#tokens.push(...event.tokens);
    if (event.type === "text") {
      this.#text += event.text;
      this.#textTokens.push(...event.tokens);
    } else if (event.type === "finish") {
      if (this.#told.ids) this.#textTokens.push(...event.tokens);
      this.#weightsVersion = event.weightsVersion;
      this.#end = endOf(event.reason, event.stopText);
    }
  }

  #drawn(): object {
    return {
      prompt_token_ids: this.#promptIds,
      token_ids: this.#tokens.map(({ id }) => id),
      weights_version: this.#weightsVersion,
    };
  }

  /** As a completion holds it. */
  toJSON(): object {
    const { logprobs, ids } = this.#told;
    return {
      index: this.#index,
      text: this.#text,
      logprobs: logprobs ? completionLogprobs(this.#textTokens, 0) : null,
      ...this.#end,
      ...(ids ? this.#drawn() : {}),
    };
  }
}

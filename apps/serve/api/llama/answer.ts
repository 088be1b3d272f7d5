/** A reply in llama.cpp's own form. */
import type { ChoiceEnd, ReplyEvent, ReplyRequest, ServedModel } from "../../reply/reply.ts";
import type { SampledToken, TextPiece } from "../../reply/tokens.ts";
import { logprobsOf } from "../fields/logprobs.ts";
import type { LlamaBody } from "./request.ts";
import { settingsOf } from "./settings.ts";

/** What is told of a reply. */
export interface Told {
  readonly model: Pick<ServedModel, "id" | "sampling">;
  /** Of the prompt, in the order of the request. */
  readonly index: number;
  readonly request: ReplyRequest;
  /** The prompt as text, the marks that begin it included. */
  readonly prompt: string;
  readonly body: LlamaBody;
}

/** A count, and how long it took. */
function timing(name: "prompt" | "predicted", n: number, ms: number): Record<string, number> {
  return {
    [`${name}_n`]: n,
    [`${name}_ms`]: ms,
    [`${name}_per_token_ms`]: n > 0 ? ms / n : 0,
    [`${name}_per_second`]: ms > 0 ? (n / ms) * 1000 : 0,
  };
}

function stopType({ reason, stopText }: ChoiceEnd): string {
  if (reason === "length") return "limit";
  return stopText === undefined ? "eos" : "word";
}

/** The value at `generation_settings/seed`; undefined where there is none. */
function valueAt(answer: object, path: string): unknown {
  return path
    .split("/")
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], answer);
}

/** Gathers a reply, and tells it piece by piece or as a whole. */
export class LlamaAnswer {
  readonly #told: Told;
  readonly #startedAt = performance.now();
  readonly #tokens: SampledToken[] = [];
  #firstAt: number | undefined;
  #text = "";
  #numPrompt = 0;
  #numCached = 0;
  #end: ChoiceEnd | undefined;

  constructor(told: Told) {
    this.#told = told;
  }

  /** Takes the next event; a piece of text is told as it comes. */
  add(event: ReplyEvent): object | undefined {
    if (event.type === "start") {
      this.#numPrompt = event.numPromptTokens;
      this.#numCached = event.numCachedTokens;
    } else if (event.type === "finish") {
      this.#end = event;
      this.#tokens.push(...event.tokens);
    } else if (event.type === "text") {
      this.#firstAt ??= performance.now();
      this.#tokens.push(...event.tokens);
      this.#text += event.text;
      return event.text === "" && event.tokens.length === 0 ? undefined : this.#piece(event);
    }
    return undefined;
  }

  /** The whole answer, or of a stream what ends it; only the fields that were asked for, if any were. */
  toJSON(): object {
    const { body, prompt, request } = this.#told;
    const end = this.#end as ChoiceEnd;
    const isStreamed = body.stream ?? false;
    const tokens = isStreamed ? [] : this.#tokens;
    const answer = {
      ...this.#shared(isStreamed ? "" : this.#text, body.return_tokens ? tokens : []),
      ...(isStreamed ? {} : this.#probabilities(this.#tokens)),
      stop: true,
      model: this.#told.model.id,
      generation_settings: settingsOf(this.#told.model, request, isStreamed),
      prompt,
      has_new_line: this.#text.includes("\n"),
      truncated: false,
      stop_type: stopType(end),
      stopping_word: end.stopText ?? "",
      tokens_cached: this.#numCached,
      timings: this.#timings(end),
    };
    const { response_fields: fields } = body;
    if (fields == null || fields.length === 0) return answer;
    return Object.fromEntries(fields.map((path) => [path, valueAt(answer, path)]));
  }

  #piece({ text, tokens }: TextPiece): object {
    return { ...this.#shared(text, tokens), ...this.#probabilities(tokens), stop: false };
  }

  #shared(content: string, tokens: readonly SampledToken[]): object {
    return {
      index: this.#told.index,
      content,
      tokens: tokens.map(({ id }) => id),
      id_slot: -1,
      tokens_predicted: this.#end?.numTokens ?? this.#tokens.length,
      tokens_evaluated: this.#numPrompt,
    };
  }

  #probabilities(tokens: readonly SampledToken[]): object {
    return this.#told.request.topLogprobs === undefined
      ? {}
      : { completion_probabilities: logprobsOf(tokens) };
  }

  #timings({ numTokens }: ChoiceEnd): object {
    const endedAt = performance.now();
    const firstAt = this.#firstAt ?? endedAt;
    return {
      cache_n: this.#numCached,
      ...timing("prompt", this.#numPrompt - this.#numCached, firstAt - this.#startedAt),
      ...timing("predicted", numTokens, endedAt - firstAt),
    };
  }
}

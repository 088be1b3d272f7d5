/** Continuations of texts by a language model behind an OpenAI-compatible server: bare completions, or chat messages. */
import type { z } from "zod";
import { checkOptions, type OptionKinds, optionsOf } from "../../lib/base/check-options.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import { Endpoint, httpUrl } from "./endpoint.ts";
import { cockatiel, type TransportOptions } from "./guard.ts";
import { bearer, type KeyOptions, keyKinds, optionalKey } from "./secret.ts";

/** `completions` continues a text as it is; `chat` lets the server put its template around messages. */
export type CompletionApi = "completions" | "chat";

/** Which model, where, and how it is asked. */
export interface CompletionsOptions extends KeyOptions {
  /** The server's base, such as `http://host:8000/v1`. */
  readonly url: string;
  readonly model: string;
  /** @default "chat" */
  readonly api?: CompletionApi;
  /** Requests under way at once; others wait for their turn, which costs them no time. @default 32 */
  readonly maxConcurrent?: number;
  /** @default five minutes an attempt, fifteen in all, six more attempts */
  readonly transport?: Omit<TransportOptions, "maxConcurrent">;
}

const optionKinds: OptionKinds<CompletionsOptions> = {
  url: "string",
  model: "string",
  api: ["completions", "chat"],
  maxConcurrent: "number",
  transport: optionsOf<NonNullable<CompletionsOptions["transport"]>>({
    timeoutMs: "number",
    deadlineMs: "number",
    retries: "number",
    breakAfter: "number",
    coolMs: "number",
  }),
  ...keyKinds,
};

/** A message of a chat. */
export interface ChatMessage {
  readonly role: string;
  readonly content: string;
}

/** What is to go on, and how far. */
export interface CompletionRequest {
  /** A text for `completions`, messages for `chat`. */
  readonly prompt: string | readonly ChatMessage[];
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  /** Added to the logits of these ids of the server's tokenizer. */
  readonly logitBias?: Readonly<Record<number, number>> | undefined;
  readonly seed?: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

const requestKinds: OptionKinds<CompletionRequest> = {
  prompt: "any",
  maxTokens: "number",
  stop: "list",
  temperature: "number",
  topP: "number",
  presencePenalty: "number",
  frequencyPenalty: "number",
  logitBias: "object",
  seed: "number",
  signal: "signal",
};

/** What a server wrote. */
export interface Completion {
  /** Without the stop string, as most servers have it. */
  readonly text: string;
  /** Why the server says it ended; `stop` is a stop string or the model's own end. */
  readonly finish: "stop" | "length";
  /** The stop string, from servers that tell: vLLM and SGLang. */
  readonly stopText?: string;
}

const ending = lazySchema((z) => ({
  finish_reason: z.string().nullish(),
  stop_reason: z.union([z.string(), z.number()]).nullish(),
  matched_stop: z.union([z.string(), z.number()]).nullish(),
}));
const choiceOf = lazySchema(
  (z) =>
    ({
      completions: z.looseObject({ ...ending(), text: z.string() }),
      chat: z.looseObject({ ...ending(), message: z.looseObject({ content: z.string().nullable() }) }),
    }) as const,
);
const shapeOf = lazySchema(
  (z) =>
    ({
      completions: z.looseObject({ choices: z.array(choiceOf().completions).min(1) }),
      chat: z.looseObject({ choices: z.array(choiceOf().chat).min(1) }),
    }) as const,
);

const routes = { completions: "/completions", chat: "/chat/completions" } as const;
const patience = { timeoutMs: 300_000, deadlineMs: 900_000, retries: 6 };

/**
 * A model that goes on with texts.
 *
 * @example
 * const completions = new Completions({ url: "http://127.0.0.1:9/v1", model: "m" });
 * const asked = completions.complete({ prompt: "Once", maxTokens: 1, stop: [], signal: AbortSignal.abort() });
 * await assert.rejects(asked, { code: "ERR_ABORTED" });
 */
export class Completions {
  readonly api: CompletionApi;
  readonly #options: CompletionsOptions;
  readonly #endpoint: Endpoint;
  readonly #model: string;
  readonly #turns;

  /** @throws ERR_ARGUMENT for an unknown key, when the address is none or the key's variable not set; ERR_RANGE */
  constructor(options: CompletionsOptions) {
    checkOptions("Completions", options, optionKinds, ["url", "model"]);
    const { url, model, api = "chat", maxConcurrent = 32, transport, ...key } = options;
    this.#options = options;
    const given = { ...patience, ...transport, maxConcurrent };
    this.api = api;
    this.#endpoint = new Endpoint(routeUrl(url, routes[api]), bearer(optionalKey(key)), given);
    this.#model = model;
    this.#turns = cockatiel().bulkhead(maxConcurrent, Number.POSITIVE_INFINITY);
  }

  /**
   * Asks for one token, so that a wrong address, model or key shows before the first question rather than after many.
   *
   * @throws as `complete`, after one more attempt
   */
  async check(signal?: AbortSignal): Promise<void> {
    const hasty = new Completions({
      ...this.#options,
      transport: { ...this.#options.transport, retries: 1 },
    });
    const prompt = this.api === "chat" ? [{ role: "user", content: "Hi" }] : "Hi";
    await hasty.complete({ prompt, maxTokens: 1, stop: [], signal });
  }

  /**
   * Goes on.
   *
   * @param request - a prompt of the kind that `api` takes, and the bounds
   * @returns the text and why it ended
   * @throws ERR_REMOTE naming the address, what was expected and what came; ERR_ABORTED when the signal fires
   */
  async complete(request: CompletionRequest): Promise<Completion> {
    checkOptions("completions.complete", request, requestKinds, ["prompt", "maxTokens", "stop"]);
    const { prompt, maxTokens, stop, topP, seed, signal, temperature } = request;
    const { presencePenalty, frequencyPenalty, logitBias } = request;
    const body = {
      model: this.#model,
      ...(typeof prompt === "string" ? { prompt } : { messages: prompt }),
      temperature,
      max_tokens: maxTokens,
      top_p: topP,
      presence_penalty: presencePenalty,
      frequency_penalty: frequencyPenalty,
      logit_bias: logitBias,
      seed,
      stop: stop.length === 0 ? undefined : stop,
    };
    return this.#turns.execute(async () => {
      if (this.api === "chat") {
        const { choices } = await this.#endpoint.call({ body, expect: shapeOf().chat, signal });
        const [choice] = choices;
        return completionOf(choice?.message.content ?? "", choice);
      }
      const { choices } = await this.#endpoint.call({ body, expect: shapeOf().completions, signal });
      return completionOf(choices[0]?.text ?? "", choices[0]);
    });
  }
}

type Ending = z.output<z.ZodObject<ReturnType<typeof ending>>>;

function completionOf(text: string, choice: Ending | undefined): Completion {
  const told = choice?.stop_reason ?? choice?.matched_stop;
  return {
    text,
    finish: choice?.finish_reason === "length" ? "length" : "stop",
    stopText: typeof told === "string" ? told : undefined,
  };
}

function routeUrl(address: string, route: string): URL {
  const url = httpUrl(address, "/v1");
  if (!url.pathname.endsWith(route)) url.pathname = url.pathname.replace(/\/$/, "") + route;
  return url;
}

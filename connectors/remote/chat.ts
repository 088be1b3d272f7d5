/** A language model behind an OpenAI-compatible server: one message in, one text out. */
import { checkArgument, checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import { Endpoint, httpUrl } from "./endpoint.ts";
import { type TransportOptions, transportKind } from "./guard.ts";
import { KeptAnswers } from "./kept-answers.ts";
import { bearer, type KeyOptions, keyKinds, optionalKey } from "./secret.ts";

/** Which model, where, and how it is asked. */
export interface ChatOptions extends KeyOptions {
  /** The server's base, such as `http://host:8000/v1`. */
  readonly url: string;
  readonly model: string;
  /** @default 0 */
  readonly temperature?: number;
  /** Of one reply. @default 1024 */
  readonly maxTokens?: number;
  /** A file of replies, so that nothing is asked twice. @default nothing is kept */
  readonly cache?: string;
  /** @default a minute an attempt, three minutes in all */
  readonly transport?: TransportOptions;
}

const optionKinds: OptionKinds<ChatOptions> = {
  url: "string",
  model: "string",
  temperature: "number",
  maxTokens: "number",
  cache: "string",
  transport: transportKind,
  ...keyKinds,
};

/** How one message is asked. */
export interface ChatRequest {
  readonly signal?: AbortSignal | undefined;
  /** Refuses a reply: it is not kept, and the error is the caller's. */
  readonly check?: (reply: string) => void;
}

const replyShape = lazySchema((z) =>
  z.looseObject({
    choices: z.array(z.looseObject({ message: z.looseObject({ content: z.string() }) })).min(1),
  }),
);

/**
 * A model to ask. Equal messages that are under way at the same time are asked once.
 *
 * @example
 * await using chat = await Chat.open({ url: "http://127.0.0.1:9/v1", model: "judge" });
 * const asked = chat.ask("yes or no?", { signal: AbortSignal.abort() });
 * await assert.rejects(asked, { code: "ERR_ABORTED" });
 */
export class Chat {
  readonly #endpoint: Endpoint;
  readonly #common: object;
  readonly #kept: KeptAnswers | undefined;
  readonly #underWay = new Map<string, Promise<string>>();

  private constructor(endpoint: Endpoint, common: object, kept: KeptAnswers | undefined) {
    this.#endpoint = endpoint;
    this.#common = common;
    this.#kept = kept;
  }

  /**
   * @param options - address, model, key, cache, patience
   * @returns a chat, to be closed
   * @throws ERR_ARGUMENT for an unknown key, when the address is none or the key's variable not set; ERR_IO or ERR_FORMAT for the cache
   */
  static async open(options: ChatOptions): Promise<Chat> {
    checkOptions("Chat.open", options, optionKinds, ["url", "model"]);
    const { model, temperature = 0, maxTokens = 1024, cache } = options;
    const transport = { timeoutMs: 60_000, deadlineMs: 180_000, ...options.transport };
    const endpoint = new Endpoint(chatUrl(options.url), bearer(optionalKey(options)), transport);
    const kept = cache === undefined ? undefined : await KeptAnswers.open(cache);
    return new Chat(endpoint, { model, temperature, max_tokens: maxTokens }, kept);
  }

  /**
   * Asks.
   *
   * @param content - the user's message
   * @param request - `signal`, and `check` for the reply
   * @returns the reply
   * @throws ERR_REMOTE naming the address, what was expected and what came; ERR_ABORTED; what `check` throws
   */
  async ask(content: string, request: ChatRequest = {}): Promise<string> {
    checkArgument("chat.ask: content", content, "string");
    const { signal, check } = checkOptions("chat.ask", request, { signal: "signal", check: "function" });
    const before = this.#kept?.get(this.#body(content));
    if (before !== undefined) return before;
    const running = this.#underWay.get(content);
    if (running !== undefined) return running;
    const asked = this.#askServer(content, signal, check).finally(() => this.#underWay.delete(content));
    this.#underWay.set(content, asked);
    return asked;
  }

  /** Gives the cache back. */
  async close(): Promise<void> {
    await this.#kept?.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #body(content: string): object {
    return { ...this.#common, messages: [{ role: "user", content }] };
  }

  async #askServer(
    content: string,
    signal: AbortSignal | undefined,
    check: ChatRequest["check"],
  ): Promise<string> {
    const body = this.#body(content);
    const { choices } = await this.#endpoint.call({ body, expect: replyShape(), signal });
    const reply = choices[0]?.message.content ?? "";
    check?.(reply);
    await this.#kept?.set(body, reply);
    return reply;
  }
}

function chatUrl(address: string): URL {
  const route = "/chat/completions";
  const url = httpUrl(address, "/v1");
  if (!url.pathname.endsWith(route)) url.pathname = url.pathname.replace(/\/$/, "") + route;
  return url;
}

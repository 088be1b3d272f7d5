/** A model behind a server that answers in a chat, by the OpenAI protocol, streaming. */

import { httpUrl } from "../../../connectors/remote/endpoint.ts";
import { routedFetch } from "../../../connectors/remote/network/routed-fetch.ts";
import { optionalKey } from "../../../connectors/remote/secret.ts";
import { SeekError } from "../../../lib/base/errors.ts";
import { readEvents } from "../../serve/http/read-events.ts";
import type { ChatMessage, Reply, Speaker } from "./speaker.ts";

/** Where, which model, and how it answers. */
interface ServerChoice {
  /** The server's base: `http://host:8080/v1`. */
  readonly address: string;
  /** @default the first that the server names */
  readonly model?: string | undefined;
  /** Environment variable with its key. */
  readonly keyEnv?: string | undefined;
  /** Members of the request's body besides model and messages. */
  readonly sampling: Readonly<Record<string, unknown>>;
}

/** A server's model; another one may be chosen at any time. */
export class ServerSpeaker implements Speaker {
  readonly models: readonly string[];
  model: string;
  readonly #call: Call;
  readonly #sampling: ServerChoice["sampling"];

  private constructor(call: Call, models: readonly string[], { model, sampling }: ServerChoice) {
    this.#call = call;
    this.models = models;
    this.model = model ?? models[0]!;
    this.#sampling = sampling;
  }

  /**
   * Asks the server for its models, so that a wrong address or key shows before the first message.
   *
   * @throws ERR_REMOTE when it does not answer, or has none; ERR_ARGUMENT for an address that is none
   */
  static async open(choice: ServerChoice, signal: AbortSignal): Promise<ServerSpeaker> {
    const url = httpUrl(choice.address, "/v1");
    const key = optionalKey({ apiKeyEnv: choice.keyEnv });
    const call = callOf(url, key);
    const models = modelsOf(await (await call("/models", { signal })).json());
    if (models.length > 0 || choice.model !== undefined) return new ServerSpeaker(call, models, choice);
    throw new SeekError("ERR_REMOTE", `${choice.address}: expected at least one model, got none`);
  }

  async *reply(
    messages: readonly ChatMessage[],
    signal: AbortSignal,
  ): AsyncGenerator<string, Reply, undefined> {
    let content = "";
    let finish: string | undefined;
    try {
      const body = { ...this.#sampling, model: this.model, messages, stream: true };
      const response = await this.#call("/chat/completions", { body, signal });
      for await (const event of eventsOf(response)) {
        const { text, reasoning, reason } = deltaOf(event);
        content += text;
        finish = reason ?? finish;
        yield reasoning + text;
      }
    } catch (error) {
      if (!signal.aborted) throw error;
      return { content, note: "stopped" };
    }
    return { content, note: finish === "length" ? "cut off by the limit of tokens" : undefined };
  }
}

type Call = (
  path: string,
  request: { readonly body?: object; readonly signal: AbortSignal },
) => Promise<Response>;

function callOf(base: URL, key: string | undefined): Call {
  const address = base.href.replace(/\/$/, "");
  const headers = {
    "content-type": "application/json",
    ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
  };
  return async (path, { body, signal }) => {
    const url = `${address}${path}`;
    const sent = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
    const response = await routedFetch(url, { ...sent, headers, signal }).catch((cause: Error) => {
      if (signal.aborted || cause instanceof SeekError) throw cause;
      const why = (cause.cause as Error | undefined)?.message ?? cause.message;
      throw new SeekError("ERR_REMOTE", `${url}: ${why}`, { cause });
    });
    if (response.ok) return response;
    const said = (await response.text()).slice(0, 500);
    const remedy =
      response.status === 401 ? ". Remedy: --endpoint ADDRESS,keyEnv=VARIABLE, which has the key" : "";
    throw new SeekError("ERR_REMOTE", `${url}: answered with status ${response.status}: ${said}${remedy}`);
  };
}

function modelsOf(json: unknown): string[] {
  const { data } = (json ?? {}) as { data?: unknown };
  const list = Array.isArray(data) ? (data as { id?: unknown }[]) : [];
  return list.map(({ id }) => id).filter((id) => typeof id === "string");
}

/** What one event adds. */
interface Delta {
  readonly text: string;
  readonly reasoning: string;
  readonly reason: string | undefined;
}

/** @throws ERR_REMOTE for an event that says that the answer failed */
function deltaOf(event: unknown): Delta {
  const { choices, error } = event as {
    error?: { message?: string };
    choices?: { delta?: Record<string, unknown>; finish_reason?: string | null }[];
  };
  if (error !== undefined) throw new SeekError("ERR_REMOTE", `the server: ${error.message}`);
  const [choice] = choices ?? [];
  const textOf = (name: string): string => {
    const value = choice?.delta?.[name];
    return typeof value === "string" ? value : "";
  };
  return {
    text: textOf("content"),
    reasoning: textOf("reasoning_content"),
    reason: choice?.finish_reason ?? undefined,
  };
}

/**
 * The `data` of each event until `[DONE]`.
 *
 * @param response - of type text/event-stream
 * @throws ERR_REMOTE for another type, and for data that are no JSON
 */
async function* eventsOf(response: Response): AsyncGenerator<object, void, undefined> {
  const type = response.headers.get("content-type") ?? "";
  if (!type.startsWith("text/event-stream")) {
    throw new SeekError(
      "ERR_REMOTE",
      `${response.url}: expected text/event-stream, got ${type || "no type"}`,
    );
  }
  for await (const { data } of readEvents(response.body)) {
    if (data === "[DONE]") return;
    yield parsed(data, response.url);
  }
}

function parsed(data: string, url: string): object {
  try {
    return JSON.parse(data);
  } catch (cause) {
    throw new SeekError("ERR_REMOTE", `${url}: expected JSON, got ${data.slice(0, 80)}`, { cause });
  }
}

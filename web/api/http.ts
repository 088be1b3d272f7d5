/** Requests to the server that gave this page: the key, refusals as errors, event streams. */
import { readEvents, type ServerEvent } from "../base/event-stream.ts";

/** What the server said instead of an answer; status 0 when it did not answer. */
export class Refused extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = "Refused";
    this.status = status;
  }
}

const keyName = "seekrl.key";

/** The key of this tab's session; it is forgotten with the tab. */
const storedKey = (): string => sessionStorage.getItem(keyName) ?? "";

/** Keeps the key, and tells whoever waits for one. */
export function storeKey(key: string): void {
  sessionStorage.setItem(keyName, key);
}

const wanting = new Set<() => void>();

/** Calls `listener` when a request was refused for want of a key. @returns to be called to end it */
export function onKeyWanted(listener: () => void): () => void {
  wanting.add(listener);
  return () => wanting.delete(listener);
}

/** What a request may have. */
interface Ask {
  readonly body?: unknown;
  readonly query?: Readonly<Record<string, string | number | undefined>> | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A path with its query; keys without a value are left out. */
function addressOf(path: string, query: Ask["query"] = {}): string {
  const kept = Object.entries(query).filter(([, value]) => value !== undefined && value !== "");
  const search = new URLSearchParams(kept.map(([key, value]) => [key, String(value)]));
  return kept.length === 0 ? path : `${path}?${search}`;
}

async function refusalOf(response: Response): Promise<Refused> {
  const text = await response.text().catch(() => "");
  const message = messageIn(text) ?? `the server answered ${response.status}`;
  if (response.status === 401) for (const listener of wanting) listener();
  return new Refused(response.status, message);
}

function messageIn(text: string): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    return typeof error?.message === "string" ? error.message : undefined;
  } catch {
    return undefined;
  }
}

/** Sends a request. @throws Refused */
export async function ask(path: string, { body, query, signal }: Ask = {}): Promise<Response> {
  const key = storedKey();
  const headers = {
    ...(body === undefined ? {} : { "content-type": "application/json" }),
    ...(key === "" ? {} : { authorization: `Bearer ${key}` }),
  };
  const how = body === undefined ? { headers } : { method: "POST", headers, body: JSON.stringify(body) };
  const response = await fetch(addressOf(path, query), { ...how, signal: signal ?? null }).catch(
    (cause: Error) => {
      if (signal?.aborted) throw cause;
      throw new Refused(0, "the server does not answer");
    },
  );
  if (!response.ok) throw await refusalOf(response);
  return response;
}

/** Asks for JSON. @throws Refused */
export async function askJson<Answer>(path: string, how: Ask = {}): Promise<Answer> {
  return (await (await ask(path, how)).json()) as Answer;
}

/** Asks for server-sent events, and reads them as they come. @throws Refused */
export async function* askEvents(path: string, how: Ask = {}): AsyncGenerator<ServerEvent> {
  const { body } = await ask(path, how);
  if (body !== null) yield* readEvents(textsOf(body));
}

async function* textsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  try {
    for (let piece = await reader.read(); !piece.done; piece = await reader.read())
      yield decoder.decode(piece.value, { stream: true });
  } finally {
    // Whoever stops reading ends the request.
    await reader.cancel().catch(() => undefined);
  }
}

/** Requests of an upload: with the token where it belongs, made again after what passes, without secrets in errors. */
import { excerpt } from "../../attempt.ts";
import { Fault, statusFault } from "../../fault.ts";
import type { Hub } from "../../files/hub.ts";
import { Guard } from "../../guard.ts";
import { shownUrl } from "../../network/proxy.ts";
import { routedFetch } from "../../network/routed-fetch.ts";
import { LocalFile } from "./local-file.ts";

type Init = NonNullable<Parameters<typeof fetch>[1]>;

/** What the library that speaks the hub's protocol says of a request besides what fetch knows. */
interface HubInit extends Init {
  readonly progressHint?: { readonly progressCallback?: (share: number) => void; readonly part?: number };
}

const day = 24 * 3_600_000;
/** Neither a byte sent nor an answer for so long ends an attempt; the hub takes its time over a commit. */
const silenceMs = 120_000;

/** What a request met on the network; fetch tells it as the cause of its own error. */
function networkMessage(error: unknown): string {
  const { cause, message } = error as Error;
  const inner = cause instanceof AggregateError ? cause.errors[0] : cause;
  return inner instanceof Error && inner.message !== "" ? inner.message : message;
}

/** Makes the requests of one upload. Each says all that it wants, so that it may be made again. */
export class HubRequests {
  readonly #hub: Hub;
  readonly #guard: Guard;
  readonly #signal: AbortSignal | undefined;

  /** @param hub - the token goes to it, and to no store that it names */
  constructor(hub: Hub, signal?: AbortSignal) {
    this.#hub = hub;
    this.#signal = signal;
    this.#guard = new Guard(shownUrl(new URL(hub.endpoint)), {
      deadlineMs: day,
      retries: 4,
      breakAfter: 1000,
    });
  }

  /** In place of the global one. @throws ERR_REMOTE for every answer that is no success; ERR_ABORTED */
  readonly fetch: typeof fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input);
    return this.#guard.run((signal) => this.#once(url, (init ?? {}) as HubInit, signal), this.#signal);
  };

  async #once(url: URL, { progressHint, ...init }: HubInit, guarded: AbortSignal): Promise<Response> {
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), silenceMs);
    const signals = [guarded, silence.signal, ...(init.signal ? [init.signal] : [])];
    const onBytes = (share: number): void => {
      timer.refresh();
      // Parts of a file count once they are there.
      if (progressHint?.part === undefined) progressHint?.progressCallback?.(share);
    };
    const [body, headers] = [countedBody(init.body, onBytes), this.#headers(url, init)];
    try {
      const answer = await routedFetch(url, { ...init, body, headers, signal: AbortSignal.any(signals) });
      if (answer.ok) return answer;
      throw await this.#refusal(url, answer, this.#isHub(url, init));
    } catch (cause) {
      if (cause instanceof Fault || guarded.aborted || init.signal?.aborted) throw cause;
      const what = silence.signal.aborted ? `nothing moved for ${silenceMs} ms` : networkMessage(cause);
      throw new Fault(`${shownUrl(url)}: ${what}`, { cause, mayRetry: true });
    } finally {
      clearTimeout(timer);
    }
  }

  /** What is put somewhere goes to a store at a signed address, which may be of the hub's own host. */
  #isHub(url: URL, { method }: Init): boolean {
    return url.origin === new URL(this.#hub.endpoint).origin && method !== "PUT";
  }

  #headers(url: URL, init: Init): Headers {
    const headers = new Headers(init.headers);
    headers.set("user-agent", "seekrl");
    if (this.#isHub(url, init)) headers.set("authorization", `Bearer ${this.#hub.token}`);
    return headers;
  }

  /** What a store says may hold parts of its signed address, so the hub alone is quoted. */
  async #refusal(url: URL, answer: Response, isHub: boolean): Promise<Fault> {
    const { status, headers } = answer;
    const text = await answer.text().catch(() => "");
    const said = isHub ? excerpt(text, [this.#hub.token ?? ""].filter(Boolean)) : "";
    const retryAfter = headers.get("retry-after") ?? undefined;
    return statusFault(shownUrl(url), { status, addition: said && `: ${said}`, retryAfter });
  }
}

function countedBody(body: Init["body"], onShare: (share: number) => void): Init["body"] {
  if (!(body instanceof LocalFile)) return body;
  const { size } = body;
  return body.counted((numBytes) => onShare(numBytes / size));
}

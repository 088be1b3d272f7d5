/** Requests on the way that the environment names: straight, or through a proxy. */
import type { Dispatcher, ProxyAgent } from "undici";
import { lazyPackage, onFirstUse } from "../../../lib/base/on-first-use.ts";
import { unlessAborted } from "../../../lib/base/streamed.ts";
import { Fault, mayPass } from "../fault.ts";
import { type HttpProxy, proxyFor, shownUrl } from "./proxy.ts";

const undici = lazyPackage<typeof import("undici")>("undici");

/** Connecting to a proxy, and its way to a server, milliseconds. */
const openingMs = 30_000;

const agents = new Map<string, ProxyAgent>();

function agentOf({ address, authorization }: HttpProxy): ProxyAgent {
  const key = `${address.href} ${authorization}`;
  const known = agents.get(key);
  if (known !== undefined) return known;
  const { Pool, ProxyAgent: Agent } = undici();
  const agent = new Agent({
    uri: address.href,
    ...(authorization === undefined ? {} : { token: authorization }),
    // Many proxies open ways to port 443 alone.
    proxyTunnel: false,
    clientFactory: (origin, options) => new Pool(origin, { ...options, headersTimeout: openingMs }),
  });
  agents.set(key, agent);
  return agent;
}

/** Decides for each request, so for each address that a redirect leads to. */
const dispatcher = onFirstUse((): Dispatcher => {
  const straight = new (undici().Agent)();
  return straight.compose((dispatch) => (options, handler) => {
    const proxy = proxyFor(new URL(String(options.origin)));
    return proxy === undefined ? dispatch(options, handler) : agentOf(proxy).dispatch(options, handler);
  });
});

/** What began a failure. */
function reasonOf(error: unknown): string {
  const { cause, message, errors } = error as Error & { readonly errors?: readonly unknown[] };
  const inner = cause ?? errors?.[0];
  return inner instanceof Error ? reasonOf(inner) : message;
}

/** The status with which the proxy answered instead of the server: the library says it in words alone. */
function refusal(url: URL, error: unknown): Fault | undefined {
  const [, digits] = /^Proxy .*\((\d{3})\)/.exec(reasonOf(error)) ?? [];
  if (digits === undefined) return undefined;
  const status = Number(digits);
  const remedy =
    status === 407
      ? "name its user and password, http://USER:PASSWORD@HOST:PORT"
      : "ask whoever runs the proxy, or name the host in NO_PROXY";
  const message = `${shownUrl(url)}: expected the proxy to let the request through, got status ${status}. Remedy: ${remedy}`;
  return new Fault(message, { cause: error, mayRetry: mayPass(status), isRefusal: status < 500 });
}

/** What a request through a proxy asks. */
type ProxiedRequest = Pick<Dispatcher.RequestOptions, "method" | "headers" | "body"> & {
  readonly signal: AbortSignal;
  /** Silence of so long ends it, milliseconds. @default none does */
  readonly silenceMs?: number | undefined;
};

/** One request through its proxy; redirects are the caller's. @throws Fault where the proxy refuses; the network's errors */
export async function requestThroughProxy(url: URL, asked: ProxiedRequest): Promise<Dispatcher.ResponseData> {
  const { silenceMs = 0, ...options } = asked;
  const limits = { headersTimeout: silenceMs, bodyTimeout: silenceMs };
  try {
    const opening = undici().request(url, { ...options, ...limits, dispatcher: dispatcher() });
    // While the way to the server is opened the library does not look at the signal.
    const answer = await unlessAborted(opening, options.signal);
    if (answer === undefined) throw options.signal.reason;
    // Whoever reads the body sees its errors; one that is let go of has none that matters.
    answer.body.on("error", () => {});
    return answer;
  } catch (error) {
    throw refusal(url, error) ?? error;
  }
}

/**
 * `fetch`, through the proxy that the environment names for each address. Never Node's own: in version 20 a read of an answer
 * that had come whole when it was aborted does not end.
 *
 * @param input - where to
 * @param init - as of `fetch`
 * @returns the answer
 * @throws as `fetch`; ERR_REMOTE naming the proxy where a request through one has failed; ERR_ARGUMENT for a proxy that is none
 */
export async function routedFetch(input: string | URL, init: RequestInit = {}): Promise<Response> {
  const url = new URL(input);
  const isProxied = proxyFor(url) !== undefined;
  try {
    // One of its own: the library cannot take a signal whose listeners nobody counts.
    const signal = init.signal ? AbortSignal.any([init.signal]) : null;
    const own = { ...init, signal, dispatcher: dispatcher() } as import("undici").RequestInit;
    return (await undici().fetch(url, own)) as unknown as Response;
  } catch (error) {
    if (!isProxied || init.signal?.aborted) throw error;
    throw (
      refusal(url, error) ??
      new Fault(`${shownUrl(url)}: ${reasonOf(error)}`, { cause: error, mayRetry: true })
    );
  }
}

/** Which proxy a request goes through: what the environment says, decided here for all that ask over the network. */
import { SeekError } from "../../../lib/base/errors.ts";
import { isStraight } from "./no-proxy.ts";

/** Variables by name. */
type Environment = Readonly<Record<string, string | undefined>>;

/** A proxy. Its credentials are apart from its address, which errors show. */
export interface HttpProxy {
  readonly address: URL;
  /** What is sent to it as Proxy-Authorization. */
  readonly authorization: string | undefined;
}

/** In small letters first, as curl and Python have it. */
const variables = {
  "https:": ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"],
  "http:": ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"],
  none: ["no_proxy", "NO_PROXY"],
} as const;

/** The first that is set, and what it says. An empty one counts as not set. */
function variable(kind: keyof typeof variables, environment: Environment): [string, string] | undefined {
  for (const name of variables[kind]) {
    const text = environment[name]?.trim();
    if (text) return [name, text];
  }
  return undefined;
}

/** The variable that names a request's proxy, and what it says; undefined where the request goes straight. */
function chosen(url: URL, environment: Environment): [string, string] | undefined {
  const found = variable(url.protocol === "https:" ? "https:" : "http:", environment);
  if (found === undefined) return undefined;
  const [, exempt = ""] = variable("none", environment) ?? [];
  return isStraight(url, exempt) ? undefined : found;
}

/** Like curl, takes `HOST:PORT` for an address of http. */
function addressOf(text: string): URL | undefined {
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  return url?.protocol === "http:" || url?.protocol === "https:" ? url : undefined;
}

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * The proxy that a request goes through: of `HTTPS_PROXY` or `HTTP_PROXY` by the request's scheme, else of `ALL_PROXY`, in
 * small or capital letters. This machine and the hosts of `NO_PROXY` are asked straight.
 *
 * @param url - of the request
 * @param environment - variables by name. Default `process.env`
 * @returns undefined where the request goes straight
 * @throws ERR_ARGUMENT for a proxy that is none of http or https
 */
export function proxyFor(url: URL, environment: Environment = process.env): HttpProxy | undefined {
  const [name, text] = chosen(url, environment) ?? [];
  if (name === undefined || text === undefined) return undefined;
  const address = addressOf(text);
  const pair = decoded(`${address?.username ?? ""}:${address?.password ?? ""}`);
  if (address === undefined || pair === undefined) {
    // What cannot be read may hold a password.
    const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(text)?.[1]?.toLowerCase() ?? "http";
    const got = scheme.startsWith("http") ? "another address" : `${scheme}://...`;
    const remedy = "Remedy: name a proxy of HTTP, or the host in NO_PROXY";
    throw new SeekError(
      "ERR_ARGUMENT",
      `${name}: expected http[s]://[USER:PASSWORD@]HOST[:PORT], got ${got}. ${remedy}`,
    );
  }
  address.username = "";
  address.password = "";
  const authorization = pair === ":" ? undefined : `Basic ${Buffer.from(pair).toString("base64")}`;
  return { address, authorization };
}

/** Where a request goes, without the user, password and query that may stand in its address, and through which proxy. */
export function shownUrl(url: URL): string {
  return `${url.origin}${url.pathname}${throughProxy(url)}`;
}

/** ` through HTTPS_PROXY (http://proxy:3128)`, for messages; nothing where a request goes straight. */
export function throughProxy(url: URL): string {
  const [name, text = ""] = chosen(url, process.env) ?? [];
  if (name === undefined) return "";
  const address = addressOf(text);
  return ` through ${name}${address === undefined ? "" : ` (${address.origin})`}`;
}

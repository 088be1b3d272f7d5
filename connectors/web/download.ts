/** One request for a page over HTTP: bytes, time and kinds of content are bounded, addresses checked. */
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { Fault } from "../remote/fault.ts";
import { type OpenAnswer, openRequest } from "../remote/network/open-request.ts";
import { checkHost, publicLookup } from "./public-address.ts";

/** The bounds of a download. */
export interface DownloadLimits {
  /** One request, from connecting to the last byte, milliseconds. @default 15_000 */
  readonly timeoutMs?: number;
  /** After decompression. @default 2 MiB */
  readonly maxBytes?: number;
  /** @default 5 */
  readonly maxRedirects?: number;
}

/** How to ask. */
interface DownloadOptions extends Pick<Required<DownloadLimits>, "maxBytes"> {
  readonly userAgent: string;
  /** All hosts of private networks too, or these, written as in addresses, with their port. */
  readonly allowPrivate: boolean | readonly string[];
  readonly signal: AbortSignal;
}

/** What came. */
export interface Download {
  readonly status: number;
  /** Without parameters, in small letters. */
  readonly contentType: string;
  readonly text: string;
  /** Where the page has gone. */
  readonly location?: URL | undefined;
}

const redirects = new Set([301, 302, 303, 307, 308]);

/**
 * Asks for a text, once; redirects are reported, not followed.
 *
 * @param url - http or https
 * @param options - bounds
 * @param accepts - says before the body is read whether it is wanted, or throws
 * @returns the answer, whatever its status, its text decoded; without text when it was not wanted
 * @throws ERR_REMOTE naming what was exceeded, ERR_ARGUMENT for a private address, the network's errors
 */
export async function download(
  url: URL,
  options: DownloadOptions,
  accepts: (status: number, contentType: string) => boolean,
): Promise<Download> {
  const answer = await open(url, options);
  try {
    const { status, headers } = answer;
    const type = headers["content-type"] ?? "";
    const contentType = type.split(";")[0]?.trim().toLowerCase() ?? "";
    const nothing = { status, contentType, text: "" };
    if (redirects.has(status) && headers.location !== undefined) {
      return { ...nothing, location: target(headers.location, url) };
    }
    if (!accepts(status, contentType)) return nothing;
    return { ...nothing, text: decode(await read(answer, options.maxBytes), type) };
  } finally {
    answer.body.destroy();
  }
}

function target(location: string, from: URL): URL {
  const url = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  if (url?.protocol === "http:" || url?.protocol === "https:") return url;
  throw new Fault(`expected a redirect to http(s), got ${url?.protocol ?? "none"}`);
}

/** Behind a proxy names are its to resolve, so that addresses in numbers alone are checked here. */
function open(url: URL, { userAgent, allowPrivate, signal }: DownloadOptions): Promise<OpenAnswer> {
  const mayBePrivate = typeof allowPrivate === "boolean" ? allowPrivate : allowPrivate.includes(url.host);
  if (!mayBePrivate) checkHost(url);
  const headers = {
    "user-agent": userAgent,
    accept: "text/html,application/xhtml+xml,text/plain;q=0.8",
    "accept-encoding": "br, gzip, deflate",
  };
  // A connection for each page: a kept one might lead to an address that another reader may not see.
  return openRequest(url, { headers, signal, agent: false, lookup: mayBePrivate ? undefined : publicLookup });
}

async function read(answer: OpenAnswer, maxBytes: number): Promise<Buffer> {
  const parts: Buffer[] = [];
  let numBytes = 0;
  const body = decompressed(answer);
  try {
    for await (const part of body) {
      numBytes += (part as Buffer).length;
      if (numBytes > maxBytes) throw new Fault(`expected at most ${maxBytes} bytes, got more`);
      parts.push(part as Buffer);
    }
  } finally {
    body.destroy();
  }
  return Buffer.concat(parts);
}

function decompressed({ headers, body }: OpenAnswer): Readable {
  const coding = headers["content-encoding"]?.trim().toLowerCase() ?? "identity";
  const coders = {
    gzip: createGunzip,
    "x-gzip": createGunzip,
    deflate: createInflate,
    br: createBrotliDecompress,
  };
  if (coding === "identity" || coding === "") return body;
  const create = coders[coding as keyof typeof coders];
  if (create === undefined) throw new Fault(`expected br, gzip or deflate, got content coding ${coding}`);
  const coder = create();
  body.on("error", (error) => coder.destroy(error));
  return body.pipe(coder);
}

/** The character set of the header, of the page's own declaration, or UTF-8. */
function decode(bytes: Buffer, contentType: string): string {
  const head = bytes.subarray(0, 1024).toString("latin1");
  const [, named] =
    /charset\s*=\s*["']?([\w-]+)/i.exec(contentType) ??
    /<meta[^>]+charset\s*=\s*["']?([\w-]+)/i.exec(head) ??
    [];
  try {
    return new TextDecoder(named ?? "utf-8").decode(bytes);
  } catch {
    throw new Fault(`expected a known character set, got ${named}`);
  }
}

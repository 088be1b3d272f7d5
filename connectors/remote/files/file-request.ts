/** One request for a file: redirects followed, its identity and checksum read from what the hub says on the way. */
import type { IncomingHttpHeaders } from "node:http";
import type { Readable } from "node:stream";
import { Fault, statusFault } from "../fault.ts";
import { type OpenAnswer, openRequest } from "../network/open-request.ts";
import { shownUrl } from "../network/proxy.ts";
import type { Checksum } from "./checksum.ts";
import type { RemoteFile } from "./file-address.ts";

/** An answer whose body is the file, or the rest of it. */
export interface FileAnswer {
  /** Undefined when the caller has all of it. */
  readonly body: Readable | undefined;
  /** The position of the body's first byte. */
  readonly start: number;
  /** Of the whole file, where the server says it. */
  readonly numBytes?: number | undefined;
  /** Changes with the content: the caller's checksum, the hub's, or the server's tag. Without one nothing can be resumed. */
  readonly tag?: string | undefined;
  readonly checksum?: Checksum | undefined;
}

/** How to ask. */
interface FileRequestOptions {
  /** The first byte that is wanted. */
  readonly from: number;
  /** Silence on the line for so long ends the attempt, milliseconds. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const maxRedirects = 5;
const redirects = new Set([301, 302, 303, 307, 308]);

function open(file: RemoteFile, url: URL, options: FileRequestOptions): Promise<OpenAnswer> {
  const { from, timeoutMs, signal } = options;
  const isOwn = url.origin === file.url.origin;
  const headers = {
    "user-agent": "seekrl",
    "accept-encoding": "identity",
    ...(from > 0 ? { range: `bytes=${from}-` } : {}),
    ...(isOwn && file.token !== undefined ? { authorization: `Bearer ${file.token}` } : {}),
  };
  return openRequest(url, { headers, signal, silenceMs: timeoutMs, agent: false });
}

function next(from: URL, location: string): URL {
  const url = URL.canParse(location, from.href) ? new URL(location, from) : undefined;
  const isAllowed = url?.protocol === "https:" || (url?.protocol === "http:" && from.protocol === "http:");
  if (url !== undefined && isAllowed) return url;
  throw new Fault(`${shownUrl(from)}: expected a redirect to ${from.protocol}//, got ${location}`);
}

const one = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

/** The hub names large files by their SHA-256 and others as git does; tags of other servers say nothing of content. */
function checksumOf(headers: IncomingHttpHeaders): Checksum | undefined {
  const hub = one(headers["x-repo-commit"]) === undefined ? undefined : headers.etag;
  const hex = (one(headers["x-linked-etag"]) ?? hub)?.replace(/^W\/|"/g, "").toLowerCase();
  if (hex === undefined || !/^[0-9a-f]+$/.test(hex)) return undefined;
  if (hex.length === 64) return { kind: "sha256", hex };
  return hex.length === 40 ? { kind: "git-sha1", hex } : undefined;
}

function failure(url: URL, answer: OpenAnswer, file: RemoteFile): Fault {
  const { status, headers } = answer;
  const isRefused = status === 401 || status === 403;
  const hint =
    isRefused && file.isOfHub === true && file.token === undefined
      ? "; HF_TOKEN opens private and gated sets of the hub"
      : "";
  return statusFault(shownUrl(url), { status, addition: hint, retryAfter: headers["retry-after"] });
}

/** What the caller has is no beginning of the server's file: nothing of it is of use. */
export class UnfitPart extends Fault {
  constructor(url: URL, why: string) {
    super(`${shownUrl(url)}: ${why}`, { mayRetry: true });
  }
}

/** Where the body stands in the file; undefined when the answer is none. @throws UnfitPart */
function extentOf(url: URL, answer: OpenAnswer, from: number): Omit<FileAnswer, "tag"> | undefined {
  const { status, headers, body } = answer;
  const length = headers["content-length"];
  if (status === 200) return { body, start: 0, numBytes: length === undefined ? undefined : Number(length) };
  if (from === 0 || (status !== 206 && status !== 416)) return undefined;
  const range = headers["content-range"] ?? "no content-range";
  const [, start, size] = /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(range) ?? [];
  const isRest = status === 206 && Number(start) === from;
  if (isRest) return { body, start: from, numBytes: Number(size) };
  // The body of this status is a page about the error.
  if (status === 416 && Number(size) === from) return { body: undefined, start: from, numBytes: from };
  throw new UnfitPart(url, `expected the bytes from ${from} on, got ${range} with status ${status}`);
}

/** The answer behind the redirects. Its body is left open where it is returned, and closed otherwise. */
function answered(
  file: RemoteFile,
  {
    url,
    answer,
    told,
  }: { readonly url: URL; readonly answer: OpenAnswer; readonly told: Checksum | undefined },
  from: number,
): FileAnswer {
  let body: Readable | undefined;
  try {
    const extent = extentOf(url, answer, from);
    if (extent === undefined) throw failure(url, answer, file);
    body = extent.body;
    const tag = file.checksum?.hex ?? told?.hex ?? answer.headers.etag;
    return { ...extent, checksum: told, tag };
  } finally {
    if (body === undefined) answer.body.destroy();
  }
}

/**
 * Asks for a file from a byte on. A server that cannot do that sends all of it, and one that has no more than the caller
 * sends nothing.
 *
 * @throws UnfitPart where the server has other bytes there or none; Fault for every other answer; the network's errors
 */
export async function requestFile(file: RemoteFile, options: FileRequestOptions): Promise<FileAnswer> {
  let url = file.url;
  let checksum: Checksum | undefined;
  for (let hop = 0; hop <= maxRedirects; hop += 1) {
    const answer = await open(file, url, options);
    checksum ??= checksumOf(answer.headers);
    const { location } = answer.headers;
    if (redirects.has(answer.status) && location !== undefined) {
      answer.body.destroy();
      url = next(url, location);
      continue;
    }
    return answered(file, { url, answer, told: checksum }, options.from);
  }
  throw new Fault(`${shownUrl(file.url)}: expected at most ${maxRedirects} redirects, got more`);
}

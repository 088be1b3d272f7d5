/** A small Hugging Face hub: it redirects to a store of files, which breaks off, changes and refuses on command. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** What the hub does next. */
export interface Hub extends AsyncDisposable {
  readonly url: string;
  /** Where the bytes are; another origin, as the real hub's. */
  readonly storeUrl: string;
  readonly asked: {
    readonly host: "hub" | "store";
    readonly path: string;
    readonly headers: IncomingMessage["headers"];
  }[];
  content: Buffer;
  /** Large files are named by SHA-256 and stored elsewhere, small ones by git's hash and sent at once. */
  isLarge: boolean;
  /** After so many bytes the next answers break off. */
  readonly breaks: number[];
  /** Statuses of the next requests to the hub. */
  readonly statuses: number[];
  /** What the store calls the content; without it the store says nothing. */
  storeTag: string | undefined;
  /** What the hub says the content hashes to, in place of the truth. */
  claimed?: string;
}

function send(
  hub: Hub,
  request: IncomingMessage,
  response: ServerResponse,
  headers: Record<string, string>,
): void {
  sendFile(hub.content, hub.breaks, { request, response, headers });
}

/** Answers with a file or the rest of it, and breaks off where it is told to. */
export function sendFile(
  content: Buffer,
  breaks: number[],
  {
    request,
    response,
    headers,
  }: { request: IncomingMessage; response: ServerResponse; headers: Record<string, string> },
): void {
  const [, first] = /^bytes=(\d+)-$/.exec(request.headers.range ?? "") ?? [];
  const start = Number(first ?? 0);
  const size = content.length;
  if (first !== undefined && start >= size) {
    response
      .writeHead(416, { ...headers, "content-range": `bytes */${size}` })
      .end("<Error>InvalidRange</Error>");
    return;
  }
  const body = content.subarray(start);
  const range = first === undefined ? {} : { "content-range": `bytes ${start}-${size - 1}/${size}` };
  response.writeHead(first === undefined ? 200 : 206, {
    ...headers,
    ...range,
    "content-length": body.length,
  });
  const most = breaks.shift();
  if (most === undefined) response.end(body);
  else response.write(body.subarray(0, most), () => setTimeout(() => response.destroy(), 200));
}

/** Starts a hub that serves one file at every address. */
export async function startHub(content: Buffer): Promise<Hub> {
  const hashOf = {
    sha256: () => createHash("sha256").update(hub.content).digest("hex"),
    git: () => createHash("sha1").update(`blob ${hub.content.length}\0`).update(hub.content).digest("hex"),
  };
  const front = createServer((request, response) => {
    hub.asked.push({ host: "hub", path: request.url ?? "", headers: request.headers });
    const status = hub.statuses.shift();
    if (status !== undefined) return void response.writeHead(status).end();
    const commit = { "x-repo-commit": "c".repeat(40) };
    if (!hub.isLarge)
      return send(hub, request, response, { ...commit, etag: `"${hub.claimed ?? hashOf.git()}"` });
    const linked = {
      "x-linked-etag": `"${hub.claimed ?? hashOf.sha256()}"`,
      location: `${hub.storeUrl}/blob`,
    };
    response.writeHead(302, { ...commit, ...linked }).end();
  });
  const store = createServer((request, response) => {
    hub.asked.push({ host: "store", path: request.url ?? "", headers: request.headers });
    send(hub, request, response, hub.storeTag === undefined ? {} : { etag: hub.storeTag });
  });
  const urls: string[] = [];
  for (const server of [front, store]) {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    urls.push(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }
  const hub: Hub = {
    url: urls[0] ?? "",
    storeUrl: urls[1] ?? "",
    asked: [],
    content,
    isLarge: true,
    breaks: [],
    statuses: [],
    storeTag: '"of-the-store"',
    [Symbol.asyncDispose]: async () => {
      for (const server of [front, store]) {
        server.closeAllConnections();
        await new Promise((resolve) => server.close(resolve));
      }
    },
  };
  return hub;
}

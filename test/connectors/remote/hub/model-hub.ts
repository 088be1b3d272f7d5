/** A hub with a repository of a model or a data set: what it holds, its files, and what it gets wrong on command. */
import { createHash } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { sendFile } from "../hub-server.ts";

/** A repository and its hub. */
export interface ModelHub extends AsyncDisposable {
  readonly url: string;
  /** Paths that were asked for, with the token that came along. */
  readonly asked: {
    readonly path: string;
    readonly token: string | undefined;
    readonly range: string | undefined;
  }[];
  /** Files by their paths; those of weights are named by SHA-256, others by git's hash. */
  readonly files: Map<string, Buffer>;
  commit: string;
  /** Statuses of the next requests. */
  readonly statuses: number[];
  /** After so many bytes the next answers break off. */
  readonly breaks: number[];
  /** Whether it tells sizes and checksums, as mirrors may not. */
  hasChecksums: boolean;
  /** What the next file holds in place of what it should. */
  readonly spoilt: Buffer[];
}

const sha256 = (content: Buffer): string => createHash("sha256").update(content).digest("hex");

/** As git names a file's content. */
export const gitHash = (content: Buffer): string =>
  createHash("sha1").update(`blob ${content.length}\0`).update(content).digest("hex");

const isLarge = (name: string): boolean => /\.(safetensors|gguf|bin)$/.test(name);

function listed(name: string, content: Buffer): object {
  const lfs = isLarge(name)
    ? { lfs: { sha256: sha256(content), size: content.length, pointerSize: 134 } }
    : {};
  return { rfilename: name, size: content.length, blobId: gitHash(content), ...lfs };
}

function answer(hub: ModelHub, id: string, request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? "", "http://hub");
  const { authorization, range } = request.headers;
  hub.asked.push({ path: request.url ?? "", token: authorization, range });
  const status = hub.statuses.shift();
  if (status !== undefined) return void response.writeHead(status).end('{"error":"as told"}');
  if (/^\/api\/(models|datasets)\/(.+)\/revision\//.exec(pathname)?.[2] === id) {
    const siblings = [...hub.files].map(([name, content]) =>
      hub.hasChecksums ? listed(name, content) : { rfilename: name },
    );
    return void response.end(JSON.stringify({ id, sha: hub.commit, siblings, private: false }));
  }
  const [, , , commit, ...name] = pathname.replace(/^\/(datasets\/)?/, "").split("/");
  const content = hub.files.get(decodeURIComponent(name.join("/")));
  if (commit !== hub.commit || content === undefined) return void response.writeHead(404).end();
  // A mirror that says nothing of what its files hash to.
  sendFile(hub.spoilt.shift() ?? content, hub.breaks, { request, response, headers: { etag: '"mirror"' } });
}

/** Answers a request that is none for files; undefined for any other. */
type Accept = (request: IncomingMessage, response: ServerResponse) => Promise<void> | undefined;

/** Starts one with a repository of these files. */
export async function startModelHub(
  id: string,
  files: Readonly<Record<string, Buffer>>,
  accept: Accept = () => undefined,
): Promise<ModelHub> {
  const server = createServer((request, response) => {
    const accepted = accept(request, response);
    if (accepted === undefined) answer(hub, id, request, response);
    else accepted.catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const hub: ModelHub = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ asked: [], files: new Map(Object.entries(files)), commit: "c".repeat(40) },
    ...{ statuses: [], breaks: [], spoilt: [], hasChecksums: true },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return hub;
}

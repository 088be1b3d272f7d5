/** A retrieval server that misbehaves on command: it breaks off, hangs, drips, talks nonsense, refuses. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** What the server does with one request. */
export type Behaviour =
  | "answer"
  | "close"
  | "hang"
  | "half"
  | "drip"
  | "garbage"
  | "shape"
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string };

/** A request as it came. */
export interface Asked {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: unknown;
}

/** A server on a port of this machine. */
export interface FaultServer extends AsyncDisposable {
  readonly url: string;
  readonly asked: Asked[];
  /** Requests under way at once at most, so far. */
  readonly mostAtOnce: number;
  /** Connections opened so far. */
  readonly numConnections: number;
  /** What the next requests meet, in order; afterwards `otherwise`. */
  readonly script: Behaviour[];
  otherwise: Behaviour;
  /** Closes the port and every connection at once. */
  stop(): Promise<void>;
  /** Opens the same port again. */
  start(): Promise<void>;
}

async function readBody(request: IncomingMessage): Promise<unknown> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString("utf8");
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

async function drip(response: ServerResponse, text: string): Promise<void> {
  response.writeHead(200, { "content-type": "application/json" });
  for (const letter of text) {
    if (response.destroyed) return;
    response.write(letter);
    await delay(20);
  }
  response.end();
}

async function behave(behaviour: Behaviour, response: ServerResponse, answer: string): Promise<void> {
  if (typeof behaviour === "object") {
    response.writeHead(behaviour.status, behaviour.headers).end(behaviour.body);
  } else if (behaviour === "close") {
    response.destroy();
  } else if (behaviour === "half") {
    response.writeHead(200, { "content-length": Buffer.byteLength(answer) });
    response.write(answer.slice(0, answer.length / 2), () => response.destroy());
  } else if (behaviour === "drip") {
    await drip(response, answer);
  } else if (behaviour !== "hang") {
    const text = { answer, garbage: "<html>no", shape: `{"result": [[{"document": {"id": 1}}]]}` }[behaviour];
    response.writeHead(200, { "content-type": "application/json" }).end(text);
  }
}

/** Starts a server that answers each request's JSON with `reply`'s. */
export async function startFaultServer(reply: (asked: Asked) => unknown): Promise<FaultServer> {
  const asked: Asked[] = [];
  const script: Behaviour[] = [];
  const counts = { now: 0, most: 0, connections: 0, port: 0 };
  const state: { otherwise: Behaviour; server?: Server } = { otherwise: "answer" };
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    counts.now += 1;
    counts.most = Math.max(counts.most, counts.now);
    response.on("close", () => {
      counts.now -= 1;
    });
    const { method = "", url = "", headers } = request;
    const one = { method, url, headers, body: await readBody(request) };
    asked.push(one);
    const behaviour = script.shift() ?? state.otherwise;
    await behave(
      behaviour,
      response,
      JSON.stringify(
        behaviour === "answer" || behaviour === "half" || behaviour === "drip" ? await reply(one) : null,
      ),
    );
  };
  const start = async (): Promise<void> => {
    const server = createServer(
      (request, response) => void handle(request, response).catch(() => response.destroy()),
    );
    server.on("connection", () => {
      counts.connections += 1;
    });
    state.server = server;
    await new Promise<void>((resolve) => server.listen(counts.port, "127.0.0.1", resolve));
    counts.port = (server.address() as AddressInfo).port;
  };
  const stop = async (): Promise<void> => {
    const { server } = state;
    delete state.server;
    if (server === undefined) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  await start();
  return {
    ...{ asked, script, start, stop },
    url: `http://127.0.0.1:${counts.port}`,
    get mostAtOnce() {
      return counts.most;
    },
    get numConnections() {
      return counts.connections;
    },
    get otherwise() {
      return state.otherwise;
    },
    set otherwise(behaviour) {
      state.otherwise = behaviour;
    },
    [Symbol.asyncDispose]: stop,
  };
}

/** What RAG-R1's and Search-R1's server answers: as many documents per query as were asked for. */
export function retrieveReply({ body }: Asked): unknown {
  const { queries, topk } = body as { queries: string[]; topk: number };
  const document = (query: string, i: number) => ({
    document: { id: i, contents: `"Title ${i}"\nabout ${query}` },
    score: 1 - i / 10,
  });
  return { result: queries.map((query) => Array.from({ length: topk }, (_, i) => document(query, i))) };
}

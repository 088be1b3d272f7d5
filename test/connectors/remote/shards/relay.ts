/** A server in front of another, which changes what it passes on, takes its time, or is down. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

/** Answers of a shard, changed in place. */
export type Change = (path: string, answer: Record<string, unknown>) => void;

/** A relay on a port of its own. */
export interface Relay extends AsyncDisposable {
  readonly url: string;
  /** Paths, in order. */
  readonly asked: string[];
  isDown: boolean;
  /** Milliseconds that it waits before it passes a request on. */
  delayMs: number;
}

/** Passes requests on. */
export async function relayTo(target: string, change: Change = () => {}): Promise<Relay> {
  const pass = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    if (relay.isDown) return void response.destroy();
    const path = request.url ?? "";
    relay.asked.push(path);
    if (relay.delayMs > 0) await delay(relay.delayMs);
    const isPost = request.method === "POST";
    const found = await fetch(new URL(path, target), {
      method: isPost ? "POST" : "GET",
      ...(isPost && { body: Buffer.concat(parts), headers: { "content-type": "application/json" } }),
    });
    const answer = (await found.json()) as Record<string, unknown>;
    if (found.ok) change(path, answer);
    response.writeHead(found.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer));
  };
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const relay: Relay = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: [],
    isDown: false,
    delayMs: 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
  return relay;
}

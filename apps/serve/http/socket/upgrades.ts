/** Connections that become WebSockets: which may, and their end with the server. */
import type { IncomingMessage, Server } from "node:http";
import type { Duplex } from "node:stream";
import type { WebSocket } from "ws";
import { lazyPackage, onFirstUse } from "../../../../lib/base/on-first-use.ts";
import { type AccessOptions, checkCaller } from "../access/access.ts";
import { Refusal, refusalBody, statusOf } from "../refusal.ts";
import { MessageSocket } from "./message-socket.ts";

/** What answers a client that stays connected. */
export interface SocketHandler {
  /** Bytes of a message. */
  readonly maxMessageBytes: number;
  /** Answers what comes; the connection ends with it. */
  accept(socket: MessageSocket): Promise<void>;
}

/** A path at which clients may open a socket. */
interface SocketRoute {
  readonly path: string;
  readonly socket?: SocketHandler | undefined;
}

/** Who may open sockets, and what becomes of failures. */
interface UpgradeOptions {
  readonly access: AccessOptions;
  readonly failureOf: (error: unknown) => Refusal;
  readonly onFault: (fault: { requestId: string; route: string; error: unknown }) => void;
}

const webSockets = lazyPackage<typeof import("ws")>("ws");

/** Compression would keep a window of memory for each connection. */
function accepter(maxPayload: number) {
  return onFirstUse(() => {
    const { WebSocketServer } = webSockets();
    return new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload,
    });
  });
}

/** Headers of a wish to speak another protocol. */
const wishes = new Set(["upgrade", "connection", "http2-settings"]);

/** A request as it came, without its wish; what follows it comes behind. */
function plainly({ method, url, rawHeaders, httpVersion }: IncomingMessage): Buffer {
  const lines = [`${method} ${url} HTTP/${httpVersion}`];
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const [name = "", value] = rawHeaders.slice(i, i + 2);
    if (!wishes.has(name.toLowerCase())) lines.push(`${name}: ${value}`);
  }
  return Buffer.from(`${lines.join("\r\n")}\r\n\r\n`, "latin1");
}

/** What was asked: a request, and the bytes behind it. */
interface Asked {
  readonly incoming: IncomingMessage;
  readonly connection: Duplex;
  readonly head: Buffer;
}

/** Answers with a refusal, in place of the handshake. */
function refuse({ connection }: Asked, refusal: Refusal): void {
  const body = JSON.stringify(refusalBody(refusal, "error", ""));
  const status = statusOf(refusal, "error");
  const headers = [`HTTP/1.1 ${status} Refused`, "connection: close", "content-type: application/json"];
  const length = `content-length: ${Buffer.byteLength(body)}`;
  connection.end(`${[...headers, length].join("\r\n")}\r\n\r\n${body}`);
}

/** A handler, and what does its handshakes. */
interface Accepting extends SocketHandler {
  readonly accepter: ReturnType<typeof accepter>;
}

/** The sockets of a server. */
export class Upgrades {
  readonly #handlers = new Map<string, Accepting>();
  readonly #options: UpgradeOptions;
  readonly #open = new Set<MessageSocket>();

  constructor(routes: readonly SocketRoute[], options: UpgradeOptions) {
    for (const { path, socket } of routes) {
      if (socket === undefined) continue;
      const { maxMessageBytes, accept } = socket;
      this.#handlers.set(path, { maxMessageBytes, accept, accepter: accepter(maxMessageBytes) });
    }
    this.#options = options;
  }

  /** Sockets that are open. */
  get size(): number {
    return this.#open.size;
  }

  /** Takes the connections of a server; of one without socket routes none. */
  attach(server: Server): void {
    if (this.#handlers.size === 0) return;
    server.on("upgrade", (incoming, connection, head) => {
      connection.on("error", () => connection.destroy());
      const asked = { incoming, connection, head };
      if (incoming.headers.upgrade?.toLowerCase() === "websocket") return this.#accept(asked, server);
      // Clients of HTTP/2 offer it with their first request, which is answered as if they had not.
      connection.unshift(Buffer.concat([plainly(incoming), head]));
      server.emit("connection", connection);
    });
  }

  /** Closes what is idle, and the others when they have been answered. */
  closeSoon(): void {
    for (const socket of this.#open) socket.closeSoon();
  }

  /** Ends the work for all of them. */
  end(reason: Refusal): void {
    for (const socket of this.#open) socket.end(reason);
  }

  /** Ends all connections. */
  terminate(): void {
    for (const socket of this.#open) socket.terminate();
  }

  #accept(asked: Asked, server: Server): void {
    const { incoming, connection, head } = asked;
    const route = incoming.url?.split("?", 1)[0] ?? "";
    try {
      if (!server.listening) throw new Refusal("stopping", "the server is shutting down");
      checkCaller({ incoming, route }, this.#options.access, false);
      const handler = this.#handlers.get(route);
      if (handler === undefined)
        throw new Refusal("not_found", `${route.slice(0, 100)}: no socket is opened here`);
      handler.accepter().handleUpgrade(incoming, connection, head, (webSocket) => {
        void this.#serve(handler, this.#socketOf(webSocket, { incoming, route }));
      });
    } catch (error) {
      refuse(asked, this.#options.failureOf(error));
    }
  }

  #socketOf(
    webSocket: WebSocket,
    { incoming, route }: { incoming: IncomingMessage; route: string },
  ): MessageSocket {
    const { failureOf, onFault } = this.#options;
    const tell = (error: unknown): void => onFault({ requestId: socket.id, route, error });
    const socket = new MessageSocket(webSocket, incoming, { failureOf, onFault: tell });
    return socket;
  }

  async #serve(handler: SocketHandler, socket: MessageSocket): Promise<void> {
    this.#open.add(socket);
    try {
      await handler.accept(socket);
    } catch (error) {
      socket.failed(error);
    } finally {
      socket.close();
      this.#open.delete(socket);
    }
  }
}

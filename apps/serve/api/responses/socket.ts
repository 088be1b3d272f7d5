/** Responses over a WebSocket: one after the other, the last one at hand without being kept. */

import { checkedBody } from "../../http/body/request-body.ts";
import { Refusal, refusalBody, statusOf } from "../../http/refusal.ts";
import type { MessageSocket } from "../../http/socket/message-socket.ts";
import type { SocketHandler } from "../../http/socket/upgrades.ts";
import type { ResponseParts } from "./conversation.ts";
import { makeResponse } from "./create.ts";
import { type ResponseRequest, socketRequest } from "./request.ts";
import type { StoredResponse } from "./store.ts";

/** What is told of a request that is not answered. */
function errorOf(refusal: Refusal): object {
  const { error } = refusalBody(refusal, "error", "") as { readonly error: object };
  return { type: "error", status: statusOf(refusal, "error"), error };
}

/** One client's connection. */
class ResponseSocket {
  readonly #socket: MessageSocket;
  readonly #parts: ResponseParts;
  /** Can be gone on from here, whether it is kept or not. */
  #last: StoredResponse | undefined;

  constructor(socket: MessageSocket, parts: ResponseParts) {
    this.#socket = socket;
    this.#parts = parts;
  }

  /** Answers one request. Nothing can be gone on from behind one that failed: so the specification has it. */
  async answer(text: string): Promise<void> {
    try {
      const { type: _, ...body } = await checkedBody(socketRequest(), Buffer.from(text));
      await this.#make(body);
    } catch (error) {
      this.#last = undefined;
      await this.#socket.send(errorOf(this.#socket.failed(error)));
    }
  }

  async #make(body: ResponseRequest): Promise<void> {
    const { store } = this.#parts;
    const find = (id: string): StoredResponse | undefined =>
      this.#last?.response.id === id ? this.#last : store.get(id);
    const { writer, events, stored } = makeResponse(this.#socket, body, { ...this.#parts, find });
    let hasBegun = false;
    try {
      for await (const event of events) {
        hasBegun = true;
        if (writer.isDone) this.#last = stored();
        await this.#socket.send(event);
      }
    } catch (error) {
      if (!hasBegun) throw error;
      this.#last = undefined;
      for (const event of writer.failed(this.#socket.failed(error))) await this.#socket.send(event);
    }
  }
}

/**
 * What answers the sockets of `/v1/responses`.
 *
 * @param parts - models, and what is kept
 * @param options `lifetimeMs`: how long a socket may stay, milliseconds, `@default 3600000`, the specification's hour
 */
export function socketHandler(
  parts: ResponseParts,
  { lifetimeMs = 3_600_000 }: { readonly lifetimeMs?: number } = {},
): SocketHandler {
  const accept = async (socket: MessageSocket): Promise<void> => {
    const client = new ResponseSocket(socket, parts);
    let isOver = false;
    const timer = setTimeout(() => {
      isOver = true;
      socket.closeSoon();
    }, lifetimeMs);
    try {
      for await (const text of socket.messages()) await client.answer(text);
      if (!isOver) return;
      const message = `a socket stays ${lifetimeMs} ms at most; open another one`;
      await socket.send(errorOf(new Refusal("websocket_connection_limit_reached", message)));
    } finally {
      clearTimeout(timer);
    }
  };
  return { maxMessageBytes: parts.serving.limits.maxBodyBytes, accept };
}

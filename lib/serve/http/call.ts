/** One request from its arrival to its answer: its deadline, its client, what was answered. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { type Dialect, Refusal, refusalBody, statusOf } from "./refusal.ts";
import { encode, type JsonList } from "./slices.ts";

/** A client may name its request; what it says is written into a header, so it must be harmless. */
const validId = /^[\w.:-]{1,128}$/;

function idOf(incoming: IncomingMessage): string {
  const given = incoming.headers["x-request-id"];
  return typeof given === "string" && validId.test(given) ? given : randomUUID();
}

/** What a call is given. */
interface CallOptions {
  readonly route: string;
  readonly dialect: Dialect;
  readonly timeoutMs: number;
}

/** A request and its answer. */
export class Call {
  readonly id: string;
  readonly route: string;
  readonly dialect: Dialect;
  readonly incoming: IncomingMessage;
  readonly startedAt = performance.now();
  /** What was answered, once it was. */
  status = 0;
  /** The last answer on this connection. */
  isLast = false;
  /** Further headers of the answer. */
  readonly headers: Record<string, string> = {};
  /** What failed though the request was answered. */
  fault: unknown;
  readonly #outgoing: ServerResponse;
  readonly #stop = new AbortController();
  readonly #timer: NodeJS.Timeout;
  readonly #onClose = (): void => this.end(new Refusal("client_gone", "the client has gone"));

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { route, dialect, timeoutMs }: CallOptions,
  ) {
    this.id = idOf(incoming);
    this.route = route;
    this.dialect = dialect;
    this.incoming = incoming;
    this.#outgoing = outgoing;
    // Every query of the request listens to it.
    setMaxListeners(0, this.#stop.signal);
    this.#timer = setTimeout(() => this.end(this.#late(timeoutMs)), timeoutMs);
    outgoing.once("close", this.#onClose);
  }

  /** Fires with a Refusal when there is no use in going on. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Ends the work for this call; whoever waits learns the reason. */
  end(reason: Refusal): void {
    this.#stop.abort(reason);
  }

  /** Answers with JSON. */
  answer(value: unknown, status = 200, headers: Readonly<Record<string, string>> = {}): void {
    this.send([Buffer.from(JSON.stringify(value))], status, {
      "content-type": "application/json",
      ...headers,
    });
  }

  /** Answers with JSON that may be long, letting other calls have their turn meanwhile. */
  async answerLong(...pieces: (string | JsonList)[]): Promise<void> {
    this.send(await encode(pieces, this.signal), 200, { "content-type": "application/json" });
  }

  /** Answers with a refusal in the route's dialect. */
  refuse(refusal: Refusal): void {
    const status = statusOf(refusal, this.dialect);
    // What is left of a body is read and dropped, unless it comes too slowly.
    if (refusal.code === "too_slow") this.isLast = true;
    this.answer(refusalBody(refusal, this.dialect), status, refusal.headers);
  }

  /** Answers with bytes, once. */
  send(blocks: readonly Buffer[], status: number, headers: Readonly<Record<string, string>>): void {
    if (this.status !== 0) return;
    this.status = status;
    clearTimeout(this.#timer);
    this.#outgoing.off("close", this.#onClose);
    if (this.#outgoing.destroyed) return;
    this.#outgoing.writeHead(status, {
      ...headers,
      ...this.headers,
      "content-length": blocks.reduce((sum, { length }) => sum + length, 0),
      "x-request-id": this.id,
      ...(this.isLast ? { connection: "close" } : {}),
    });
    if (this.incoming.method !== "HEAD") for (const block of blocks) this.#outgoing.write(block);
    this.#outgoing.end();
  }

  #late(timeoutMs: number): Refusal {
    if (!this.incoming.complete) return new Refusal("too_slow", `body: not received within ${timeoutMs} ms`);
    return new Refusal("timeout", `no answer within ${timeoutMs} ms`);
  }
}

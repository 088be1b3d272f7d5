/** A WebSocket of texts, one request after the other. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { WebSocket } from "ws";
import { isOurs, Refusal } from "../refusal.ts";

/** How long a client may take nothing of what was sent, milliseconds. */
const stalledMs = 60_000;

/** Codes of RFC 6455 with which connections are closed. */
const closeCodes = { done: 1000, goingAway: 1001, notText: 1003 } as const;

const clientGone = (): Refusal => new Refusal("client_gone", "the client has gone");

/** What becomes of failures. */
interface SocketFailures {
  /** An error as clients see it. */
  readonly failureOf: (error: unknown) => Refusal;
  /** Called with each that is ours. */
  readonly onFault: (error: unknown) => void;
}

/** A connection that stays. Its client's next message is read when the one before has been answered. */
export class MessageSocket {
  readonly id = randomUUID();
  readonly incoming: IncomingMessage;
  readonly #socket: WebSocket;
  readonly #failures: SocketFailures;
  readonly #stop = new AbortController();
  readonly #waiting: string[] = [];
  #wake: (() => void) | undefined;
  #isLast = false;

  /** Opened by the server; its declaration would ask users for the types of `ws`. @internal */
  constructor(socket: WebSocket, incoming: IncomingMessage, failures: SocketFailures) {
    this.#socket = socket;
    this.#failures = failures;
    this.incoming = incoming;
    socket.on("message", (data, isBinary) => this.#take(isBinary ? undefined : String(data)));
    socket.on("close", () => this.end(clientGone()));
    // What breaks the protocol is told to the client by the closing code, and closes the connection.
    socket.on("error", () => this.end(new Refusal("client_gone", "the client broke the protocol")));
  }

  /** Fires with a Refusal once there is nobody to answer. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  /** Texts as they come, until the connection ends. */
  async *messages(): AsyncGenerator<string, void, undefined> {
    while (!this.signal.aborted) {
      const text = this.#waiting.shift();
      if (text !== undefined) {
        this.#socket.resume();
        yield text;
      } else if (this.#isLast) return;
      else await this.#nextMessage();
    }
  }

  /** Sends JSON, and waits until it is on its way. @throws Refusal once nobody takes it */
  async send(value: unknown): Promise<void> {
    const stalled = setTimeout(() => this.#socket.terminate(), stalledMs);
    try {
      await new Promise<void>((resolve, reject) => {
        this.#socket.send(JSON.stringify(value), (error) => (error ? reject(clientGone()) : resolve()));
      });
    } finally {
      clearTimeout(stalled);
    }
  }

  /** What a failure is for the client. */
  failed(error: unknown): Refusal {
    const refusal = this.#failures.failureOf(this.signal.aborted ? this.signal.reason : error);
    if (isOurs(refusal)) this.#failures.onFault(refusal.cause ?? error);
    return refusal;
  }

  /** Ends the connection once the client has been told. */
  close(): void {
    this.#socket.close(this.#isLast ? closeCodes.goingAway : closeCodes.done);
  }

  /** Lets what was asked be answered, and no more. */
  closeSoon(): void {
    this.#isLast = true;
    this.#rouse();
  }

  /** Ends the work for this connection; whoever waits learns the reason. */
  end(reason: Refusal): void {
    this.#stop.abort(reason);
    this.#rouse();
  }

  /** Ends the connection at once. */
  terminate(): void {
    this.#socket.terminate();
  }

  /** While one message waits for its turn nothing further is read, but otherwise that the client leaves is seen at once. */
  #take(text: string | undefined): void {
    if (text === undefined) {
      this.#socket.close(closeCodes.notText, "expected text");
      return;
    }
    this.#waiting.push(text);
    if (this.#wake === undefined) this.#socket.pause();
    this.#rouse();
  }

  #nextMessage(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #rouse(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}

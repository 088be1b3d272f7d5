/** Server-sent events, as fast as the client takes them. */
import type { ServerResponse } from "node:http";
import { Refusal } from "./refusal.ts";

/** One event: its name, if it has one, and its data, which is written as JSON unless it is a text. */
export interface SentEvent {
  readonly event?: string | undefined;
  readonly data: unknown;
}

/** Between two signs of life while there is nothing to send, milliseconds: proxies close what is silent for a minute. */
const idleMs = 15_000;

/** How long a client may take nothing of what was sent, milliseconds. */
const stalledMs = 60_000;

/** The JSON of an event, or its text; neither holds a line break. */
function written({ event, data }: SentEvent): string {
  const name = event === undefined ? "" : `event: ${event}\n`;
  return `${name}data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
}

/** The call that is answered. */
interface Answered {
  readonly signal: AbortSignal;
  end(reason: Refusal): void;
}

/** An answer that goes on. */
export class EventStream {
  readonly #outgoing: ServerResponse;
  readonly #call: Answered;
  readonly #timer: NodeJS.Timeout;
  #isGathering = false;

  constructor(outgoing: ServerResponse, call: Answered) {
    this.#outgoing = outgoing;
    this.#call = call;
    this.#timer = setInterval(() => this.#write(": still here\n\n"), idleMs).unref();
    if (outgoing.destroyed) return;
    // The head of the answer does not wait for its first event, and leaves together with one that is there.
    this.#gather();
    outgoing.flushHeaders();
  }

  /**
   * Sends an event, and waits while the client has not taken what was sent before.
   *
   * @throws the call's reason once it has ended: the client has gone or takes nothing any more
   */
  async send(event: SentEvent): Promise<void> {
    this.#timer.refresh();
    if (this.#write(written(event))) return;
    await this.#drained();
  }

  /** Ends the answer. */
  end(): void {
    clearInterval(this.#timer);
    this.#outgoing.end();
  }

  /** Whether more can be sent at once. */
  #write(text: string): boolean {
    if (this.#outgoing.destroyed) return true;
    this.#gather();
    return this.#outgoing.write(text);
  }

  /** What is sent in one turn of the event loop leaves together: a write to a socket costs as much as several events. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    this.#outgoing.cork();
    setImmediate(() => {
      this.#isGathering = false;
      this.#outgoing.uncork();
    });
  }

  async #drained(): Promise<void> {
    const { signal } = this.#call;
    const stalled = setTimeout(() => {
      this.#call.end(new Refusal("client_gone", `nothing was read for ${stalledMs} ms`));
      this.#outgoing.destroy();
    }, stalledMs);
    try {
      await new Promise<void>((resolve, reject) => {
        const stop = (): void => reject(signal.reason);
        if (signal.aborted) return stop();
        signal.addEventListener("abort", stop, { once: true });
        this.#outgoing.once("drain", () => {
          signal.removeEventListener("abort", stop);
          resolve();
        });
      });
    } finally {
      clearTimeout(stalled);
    }
  }
}

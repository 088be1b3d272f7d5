/** One request from its arrival to its answer: its deadline, its client, what was answered. */
import { randomUUID } from "node:crypto";
import { setMaxListeners } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { z } from "zod";
import { breathe } from "../../../lib/base/slices/breathe.ts";
import { type BodyLimits, checkedBody, ignoredIn, readBytes } from "./body/request-body.ts";
import { EventStream } from "./event-stream.ts";
import type { PathParams } from "./paths.ts";
import { type Dialect, isOurs, Refusal, refusalBody, statusOf } from "./refusal.ts";
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
  readonly params: PathParams;
  /** An error as clients see it. */
  readonly failureOf: (error: unknown) => Refusal;
}

/** A request and its answer. */
export class Call {
  readonly id: string;
  readonly route: string;
  readonly dialect: Dialect;
  readonly incoming: IncomingMessage;
  /** What the open parts of the route's path stand for. */
  readonly params: PathParams;
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
  readonly #failureOf: (error: unknown) => Refusal;
  readonly #onClose = (): void => this.end(new Refusal("client_gone", "the client has gone"));

  constructor(
    incoming: IncomingMessage,
    outgoing: ServerResponse,
    { route, dialect, timeoutMs, params, failureOf }: CallOptions,
  ) {
    this.id = idOf(incoming);
    this.route = route;
    this.dialect = dialect;
    this.incoming = incoming;
    this.params = params;
    this.#failureOf = failureOf;
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

  /**
   * The body, read for as long as there is use in it, parsed and checked. A header of the answer names what of it is ignored.
   *
   * @param schema - what it must be
   * @param limits - how large it may be
   * @throws Refusal that names the fault
   */
  async read<Shape extends z.ZodType>(schema: Shape, { maxBodyBytes }: BodyLimits): Promise<z.output<Shape>> {
    const bytes = await readBytes(this.incoming, { maxBodyBytes, signal: this.signal });
    const body = await checkedBody(schema, bytes);
    const names = ignoredIn(body);
    if (names.length > 0) this.headers["seekrl-ignored"] = names.join(", ");
    return body;
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
    const blocks = await encode(pieces, this.signal);
    if (!this.#begin(blocks, 200, { "content-type": "application/json" })) return;
    // To hand 20 MB to a socket at once takes a tenth of a second. Nothing waits for the client to read: it would keep its place.
    for (const block of blocks) {
      if (this.#outgoing.destroyed) return;
      this.#outgoing.write(block);
      await breathe();
    }
    this.#outgoing.end();
  }

  /**
   * Begins an answer of server-sent events. From now on no deadline ends the call, but its client's leaving does.
   *
   * @returns what sends them, to be ended
   */
  openStream(): EventStream {
    this.status = 200;
    clearTimeout(this.#timer);
    if (!this.#outgoing.destroyed) {
      this.#outgoing.writeHead(200, {
        "content-type": "text/event-stream; charset=utf-8",
        "cache-control": "no-store",
        // Proxies such as nginx would gather the events.
        "x-accel-buffering": "no",
        ...this.#shared(),
      });
    }
    return new EventStream(this.#outgoing, this);
  }

  /** What a failure is for the client; one of ours is kept as {@link fault}. */
  failed(error: unknown): Refusal {
    const refusal = this.#failureOf(this.signal.aborted ? this.signal.reason : error);
    if (isOurs(refusal)) this.fault = refusal.cause ?? error;
    return refusal;
  }

  /** The query of the request's target. */
  get query(): URLSearchParams {
    const { url = "/" } = this.incoming;
    const at = url.indexOf("?");
    return new URLSearchParams(at < 0 ? "" : url.slice(at + 1));
  }

  /** Answers with a refusal in the route's dialect. */
  refuse(refusal: Refusal): void {
    const status = statusOf(refusal, this.dialect);
    // What is left of a body is read and dropped, unless it comes too slowly.
    if (refusal.code === "too_slow") this.isLast = true;
    this.answer(refusalBody(refusal, this.dialect, this.id), status, refusal.headers);
  }

  /** Answers with bytes, once. */
  send(blocks: readonly Buffer[], status: number, headers: Readonly<Record<string, string>>): void {
    if (!this.#begin(blocks, status, headers)) return;
    if (this.incoming.method !== "HEAD") for (const block of blocks) this.#outgoing.write(block);
    this.#outgoing.end();
  }

  /** Writes the head of an answer of bytes. @returns whether there is anybody to answer, for the first time */
  #begin(blocks: readonly Buffer[], status: number, headers: Readonly<Record<string, string>>): boolean {
    if (this.status !== 0) return false;
    this.status = status;
    clearTimeout(this.#timer);
    this.#outgoing.off("close", this.#onClose);
    if (this.#outgoing.destroyed) return false;
    const length = blocks.reduce((sum, block) => sum + block.length, 0);
    this.#outgoing.writeHead(status, { ...headers, ...this.#shared(), "content-length": length });
    return true;
  }

  /** Headers of every answer. */
  #shared(): Readonly<Record<string, string>> {
    return { ...this.headers, "x-request-id": this.id, ...(this.isLast ? { connection: "close" } : {}) };
  }

  #late(timeoutMs: number): Refusal {
    if (!this.incoming.complete) return new Refusal("too_slow", `body: not received within ${timeoutMs} ms`);
    return new Refusal("timeout", `no answer within ${timeoutMs} ms`);
  }
}

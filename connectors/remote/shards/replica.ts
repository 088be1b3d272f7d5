/** One server of a shard: how busy and how quick it is, and whether it is left out for a while. */
import { performance } from "node:perf_hooks";
import type { z } from "zod";
import { Endpoint, httpUrl } from "../endpoint.ts";
import { Fault } from "../fault.ts";
import type { TransportOptions } from "../guard.ts";
import { shownUrl } from "../network/proxy.ts";
import { bearer } from "../secret.ts";
import { type Description, descriptionSchema, healthSchema } from "./answers.ts";

/** One request to any server of a shard. */
export interface ShardRequest<Answer> {
  /** Below the server's address, in segments. */
  readonly path: readonly string[];
  /** Posted as JSON; without it the request is a GET. */
  readonly body?: unknown;
  readonly expect: z.ZodType<Answer>;
  /** What cannot be true of an answer that has the right shape: the server is failing. @default nothing */
  readonly flaw?: (answer: Answer) => string | undefined;
}

/** An index, and a server that holds it. */
export interface Holding {
  readonly server: string;
  readonly description: Description;
}

/** Whether two servers answer alike. */
export function isSameIndex(a: Description | undefined, b: Description): boolean {
  return a?.digest === b.digest && a.passages === b.passages && a.mode === b.mode;
}

/** An index in a few words. */
export function shownIndex({ digest, passages, mode }: Description): string {
  return `${passages} passages for ${mode} (${digest})`;
}

/** What has been seen is half forgotten after so many milliseconds, so that a slow server gets another chance. */
const halfLifeMs = 5_000;
/** How much the latest answer counts. */
const newShare = 0.3;

/** A server that holds a copy of a shard. */
export class Replica {
  readonly #endpoint: Endpoint;
  /** When the requests under way began. */
  readonly #underWay = new Set<{ readonly began: number }>();
  #meanMs = 0;
  #seenAt = 0;
  #probe: Promise<void> | undefined;
  /** What it said that it holds, unless it has failed since. */
  #description: Description | undefined;

  /** @throws ERR_ARGUMENT, ERR_RANGE */
  constructor(url: string, key: string | undefined, transport: TransportOptions) {
    this.#endpoint = new Endpoint(httpUrl(url), bearer(key), { ...transport, retries: 0 });
  }

  /** Whether it failed so lately that nothing is sent to it. */
  get isLeftOut(): boolean {
    return this.#endpoint.isBroken;
  }

  /** About how long one more request would take, milliseconds; the least is asked first. */
  get cost(): number {
    const now = performance.now();
    const [oldest = { began: now }] = this.#underWay;
    const remembered = this.#meanMs * 2 ** ((this.#seenAt - now) / halfLifeMs);
    return (this.#underWay.size + 1) * Math.max(remembered, now - oldest.began, 1e-3);
  }

  /** Stands at the beginning of error messages. */
  get name(): string {
    return this.#endpoint.name;
  }

  /** Asks what it holds. @throws Fault naming the address */
  async describe(): Promise<Holding> {
    this.#description = await this.#call({ path: ["shard"], expect: descriptionSchema() });
    return { server: this.name, description: this.#description };
  }

  /**
   * Asks once, after it has said that it holds what its shard does.
   *
   * @param request - what to ask
   * @param holding - what its shard holds
   * @throws Fault naming the address, also where it holds another index; ERR_ABORTED
   */
  async ask<Answer>(
    request: ShardRequest<Answer>,
    { holding, signal }: { readonly holding: Holding; readonly signal: AbortSignal },
  ): Promise<Answer> {
    if (!isSameIndex(this.#description, holding.description)) await this.#check(holding, signal);
    try {
      return await this.#call(request, signal);
    } catch (error) {
      // It may have been started again with another index: that is looked at before it is asked once more.
      if (error instanceof Fault) this.#description = undefined;
      throw error;
    }
  }

  async #check({ server, description }: Holding, signal: AbortSignal): Promise<void> {
    const flaw = (found: Description): string | undefined => {
      if (isSameIndex(found, description)) return undefined;
      return `expected ${shownIndex(description)} as ${server} holds, got ${shownIndex(found)}`;
    };
    this.#description = await this.#call({ path: ["shard"], expect: descriptionSchema(), flaw }, signal);
  }

  async #call<Answer>(
    { path, body, expect, flaw }: ShardRequest<Answer>,
    signal?: AbortSignal,
  ): Promise<Answer> {
    const url = this.#endpoint.at(...path);
    const request = { began: performance.now() };
    const judge = (answer: Answer): void => {
      const wrong = flaw?.(answer);
      if (wrong !== undefined) throw new Fault(`${shownUrl(url)}: ${wrong}`);
    };
    this.#underWay.add(request);
    try {
      const answer = await this.#endpoint.call({
        ...{ url, expect, signal, body, judge },
        method: body === undefined ? "GET" : "POST",
      });
      this.#note(performance.now() - request.began);
      return answer;
    } finally {
      this.#underWay.delete(request);
    }
  }

  /**
   * Looks whether a server that was left out is well again; the first good answer after its time is over brings it back.
   *
   * @returns when that is known; at once when it is not left out or its time is not over
   */
  probe(): Promise<void> {
    if (!this.isLeftOut) return Promise.resolve();
    this.#probe ??= this.#look().finally(() => {
      this.#probe = undefined;
    });
    return this.#probe;
  }

  async #look(): Promise<void> {
    const url = this.#endpoint.at("health");
    // One that is not well stays left out, and whoever needs it looks again.
    await this.#endpoint.call({ url, method: "GET", expect: healthSchema() }).catch(() => {});
  }

  #note(ms: number): void {
    this.#meanMs = this.#meanMs === 0 ? ms : (1 - newShare) * this.#meanMs + newShare * ms;
    this.#seenAt = performance.now();
  }
}

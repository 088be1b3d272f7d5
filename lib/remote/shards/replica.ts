/** One server of a shard: how busy and how quick it is, and whether it is left out for a while. */
import { performance } from "node:perf_hooks";
import type { z } from "zod";
import { Endpoint, httpUrl } from "../endpoint.ts";
import type { TransportOptions } from "../guard.ts";
import { bearer } from "../secret.ts";
import { healthSchema } from "./answers.ts";

/** One request to any server of a shard. */
export interface ShardRequest<Answer> {
  /** Below the server's address, in segments. */
  readonly path: readonly string[];
  /** Posted as JSON; without it the request is a GET. */
  readonly body?: unknown;
  readonly expect: z.ZodType<Answer>;
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

  /** Asks once. @throws Fault naming the address; ERR_ABORTED */
  async ask<Answer>(
    { path, body, expect }: ShardRequest<Answer>,
    signal: AbortSignal | undefined,
  ): Promise<Answer> {
    const url = this.#endpoint.at(...path);
    const request = { began: performance.now() };
    this.#underWay.add(request);
    try {
      const answer = await this.#endpoint.call({
        ...{ url, expect, signal, body },
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

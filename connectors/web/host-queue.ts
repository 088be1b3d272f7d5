/** Few requests at a time to one host, and a pause between them. */
import { performance } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import type { BulkheadPolicy } from "cockatiel";
import { cockatiel } from "../remote/guard.ts";

/** How gently hosts are asked. */
export interface HostLimits {
  /** Requests to one host at once. @default 2 */
  readonly perHost?: number;
  /** Between the beginnings of two requests to one host, milliseconds. @default 200 */
  readonly delayMs?: number;
  /** Requests to all hosts at once. @default 16 */
  readonly maxConcurrent?: number;
}

interface Line {
  readonly slots: BulkheadPolicy;
  /** When the next request may begin. */
  next: number;
}

/** A line for each host. */
export class HostQueue {
  readonly #perHost: number;
  readonly #delayMs: number;
  readonly #all: BulkheadPolicy;
  readonly #lines = new Map<string, Line>();

  constructor({ perHost = 2, delayMs = 200, maxConcurrent = 16 }: HostLimits = {}) {
    this.#perHost = perHost;
    this.#delayMs = delayMs;
    this.#all = cockatiel().bulkhead(maxConcurrent, Number.POSITIVE_INFINITY);
  }

  /** Runs a request to a host when its turn comes. */
  async run<Result>(host: string, request: () => Promise<Result>): Promise<Result> {
    const line = this.#lines.get(host) ?? {
      slots: cockatiel().bulkhead(this.#perHost, Number.POSITIVE_INFINITY),
      next: 0,
    };
    this.#lines.set(host, line);
    return line.slots.execute(async () => {
      // Others may have begun while this one slept.
      for (let ms = line.next - performance.now(); ms > 0; ms = line.next - performance.now())
        await delay(ms);
      line.next = performance.now() + this.#delayMs;
      return this.#all.execute(request);
    });
  }
}

/** A shard's servers: the one that is likely to be quickest is asked, another when it fails or takes long. */
import { setTimeout as delay } from "node:timers/promises";
import { SeekError, throwIfAborted } from "../../../lib/base/errors.ts";
import { Fault } from "../fault.ts";
import { Guard, type TransportOptions } from "../guard.ts";
import type { Description } from "./answers.ts";
import { type Holding, isSameIndex, Replica, type ShardRequest, shownIndex } from "./replica.ts";

/** How a shard's servers are asked. */
interface ReplicaSetOptions {
  readonly key: string | undefined;
  readonly hedgeAfterMs: number;
  readonly transport: TransportOptions;
}

/** The servers that hold copies of one shard. */
export class ReplicaSet {
  readonly #replicas: readonly Replica[];
  readonly #guard: Guard;
  readonly #hedgeAfterMs: number;
  #holding: Holding | undefined;

  /**
   * @param name - stands at the beginning of error messages
   * @param urls - of its servers
   * @throws ERR_ARGUMENT, ERR_RANGE
   */
  constructor(name: string, urls: readonly string[], { key, hedgeAfterMs, transport }: ReplicaSetOptions) {
    const { retries, deadlineMs, ...each } = transport;
    // Where another can take its place, one failure is enough to leave a server out.
    const breakAfter = urls.length > 1 ? 1 : undefined;
    this.#replicas = urls.map((url) => new Replica(url, key, { breakAfter, ...each, deadlineMs }));
    this.#hedgeAfterMs = hedgeAfterMs;
    // The servers have breakers and slots of their own.
    const unbounded = { breakAfter: 2 ** 31 - 1, maxConcurrent: 2 ** 31 - 1 };
    this.#guard = new Guard(name, { retries, deadlineMs, ...unbounded });
  }

  /** Stands at the beginning of error messages. */
  get name(): string {
    return this.#guard.name;
  }

  /**
   * What its servers hold. Those that do not answer, or long after the first, are asked before they are needed.
   *
   * @throws ERR_ARGUMENT naming two servers that hold different indexes; ERR_REMOTE where none answers
   */
  async describe(): Promise<Description> {
    this.#holding = await this.#guard.run(() => this.#held());
    return this.#holding.description;
  }

  async #held(): Promise<Holding> {
    const order = await this.#inOrder();
    const { kept, reasons } = await soonAfterFirst(
      order.map((replica) => replica.describe()),
      this.#hedgeAfterMs,
    );
    const [first, ...others] = kept;
    if (first === undefined) throw this.#allFailed(reasons.filter((error) => error instanceof Fault));
    const other = others.find(({ description }) => !isSameIndex(description, first.description));
    if (other === undefined) return first;
    const got = [first, other].map(({ server, description }) => `${shownIndex(description)} at ${server}`);
    const what = `${this.name}: expected one index on all of its servers, got ${got.join(" and ")}`;
    throw new SeekError("ERR_ARGUMENT", what);
  }

  /**
   * The first good answer of any server; {@link describe} comes before.
   *
   * @throws ERR_REMOTE naming the shard and what each of its servers said; ERR_ABORTED
   */
  async ask<Answer>(request: ShardRequest<Answer>, signal?: AbortSignal): Promise<Answer> {
    return this.#guard.run((stop) => this.#round(request, stop), signal);
  }

  async #round<Answer>(request: ShardRequest<Answer>, signal: AbortSignal): Promise<Answer> {
    const order = await this.#inOrder();
    throwIfAborted(signal, this.name);
    const faults: Fault[] = [];
    const holding = this.#holding as Holding;
    let [numAsked, isDone] = [0, false];
    let timer: NodeJS.Timeout | undefined;
    return new Promise<Answer>((resolve, reject) => {
      const askNext = (): void => {
        clearTimeout(timer);
        const replica = order[numAsked];
        if (isDone || replica === undefined) return;
        numAsked += 1;
        timer = setTimeout(askNext, this.#hedgeAfterMs);
        // One that another has overtaken is not stopped: that it is late has to be seen to the end.
        replica.ask(request, { holding, signal }).then(succeed, fail);
      };
      const end = (): void => {
        isDone = true;
        clearTimeout(timer);
      };
      const succeed = (answer: Answer): void => {
        end();
        resolve(answer);
      };
      const fail = (error: unknown): void => {
        if (error instanceof Fault) faults.push(error);
        if (error instanceof Fault && faults.length < order.length) {
          if (faults.length === numAsked) askNext();
          return;
        }
        end();
        reject(error instanceof Fault ? this.#allFailed(faults) : error);
      };
      askNext();
    });
  }

  /** Those that answered lately, the quickest first; when there are none, all, so that each says why. */
  async #inOrder(): Promise<Replica[]> {
    const out = this.#replicas.filter(({ isLeftOut }) => isLeftOut);
    const probes = Promise.all(out.map((replica) => replica.probe()));
    if (out.length === this.#replicas.length) await probes;
    const live = this.#replicas.filter(({ isLeftOut }) => !isLeftOut);
    if (live.length === 0) return [...this.#replicas];
    const costs = live.map((replica) => [replica, replica.cost] as const);
    return costs.sort(([, a], [, b]) => a - b).map(([replica]) => replica);
  }

  #allFailed(faults: readonly Fault[]): Fault {
    const waits = faults.flatMap(({ retryAfterMs }) => retryAfterMs ?? []);
    const why = faults.map(({ message }) => message).join("; ");
    return new Fault(`${this.name}: no server answers: ${why}. Remedy: start it again, or name a replica`, {
      mayRetry: faults.some(({ mayRetry }) => mayRetry),
      retryAfterMs: waits.length === faults.length ? Math.min(...waits) : undefined,
    });
  }
}

/** What came of promises up to some milliseconds after the first was kept; all of it where each was rejected. */
async function soonAfterFirst<Value>(
  promises: readonly Promise<Value>[],
  afterMs: number,
): Promise<{ readonly kept: readonly Value[]; readonly reasons: readonly unknown[] }> {
  const [kept, reasons]: [Value[], unknown[]] = [[], []];
  const keep = (promise: Promise<Value>): Promise<unknown> =>
    promise.then(
      (value) => kept.push(value),
      (error: unknown) => reasons.push(error),
    );
  const all = Promise.all(promises.map(keep));
  await Promise.any(promises).catch(() => {});
  const timer = new AbortController();
  await Promise.race([all, delay(afterMs, undefined, { signal: timer.signal }).catch(() => {})]);
  timer.abort();
  // Others may still come.
  return { kept: [...kept], reasons: [...reasons] };
}

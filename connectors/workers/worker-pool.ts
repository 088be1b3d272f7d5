/** Rollouts of a training spread over the local engine and servers, which have the new weights before they roll out. */
import { checkOptions } from "../../lib/base/check-options.ts";
import { messageOf, SeekError } from "../../lib/base/errors.ts";
import { unlessAborted } from "../../lib/base/streamed.ts";
import type { Question } from "../../lib/data/question.ts";
import type { RolloutOptions } from "../../lib/rollout/agents/agent.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { type Place, Places } from "./places.ts";
import { openServer } from "./servers/open-server.ts";
import { type TokenServer, WorkerFault } from "./servers/token-server.ts";
import { tokenSource } from "./token-sequence.ts";
import { WeightsFolder } from "./weights-folder.ts";
import { poolKinds, poolRequired, type WorkerOptions, type WorkerPoolOptions } from "./worker-options.ts";

/** A server as a place. */
interface Worker {
  readonly place: Place;
  readonly server: TokenServer;
  /** Where nothing is pushed. */
  readonly staleness: number | undefined;
}

/** What the local engine is called in metrics. */
const localName = "local";

/**
 * Spreads rollouts over the local engine and workers by their free places. A question's samples stay together; their seeds are
 * the question's, so a worker that computes as the engine does gives the same trajectories. When a worker fails, its rollouts
 * are begun anew elsewhere, and it is tried again once the weights have changed.
 *
 * @example
 * await using pool = await WorkerPool.open({
 *   workers: [{ url: workerUrl, concurrency: 64 }],
 *   agent: (engine) => searchAgent({ ...ragR1({ queries: "multi" }), engine, tokenizer, search }),
 *   ...{ engine, tokenizer, policy: model },
 * });
 * const trajectories = await pool.rollouts({ id: "1", question: "who?", answers: ["x"] }, { samples: 4 });
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #folder: WeightsFolder;
  readonly #workers: readonly Worker[];
  readonly #places: Places;
  readonly #closing = new AbortController();
  #version: number;
  /** How often rollouts have met other weights than those before. */
  #numChanges = 0;
  #pushing: Promise<void> = Promise.resolve();

  private constructor(options: WorkerPoolOptions, folder: WeightsFolder, workers: readonly Worker[]) {
    this.#options = options;
    this.#folder = folder;
    this.#workers = workers;
    const local = localPlace(options);
    this.#places = new Places([...(local ? [local] : []), ...workers.map(({ place }) => place)]);
    this.#version = options.policy.weightsVersion;
  }

  /**
   * Opens a pool: finds out what its workers are, asks each for a token, and gives them the weights.
   *
   * @param options - see {@link WorkerPoolOptions}
   * @returns the pool, to be closed
   * @throws ERR_ARGUMENT for an unknown key, for fewer workers than ranks where no engine rolls out, for a server of another kind or with too little room, and for one that takes no
   *   such weights and has no staleness declared; ERR_REMOTE for one that does not answer or refuses; ERR_IO when the weights
   *   cannot be written; ERR_ABORTED
   */
  static async open(options: WorkerPoolOptions): Promise<WorkerPool> {
    checkOptions("WorkerPool.open", options, poolKinds, poolRequired);
    const share = ownShare(options);
    const folder = await WeightsFolder.open(options.folder, options.processGroup?.rank);
    const workers: Worker[] = [];
    try {
      for (const each of share) workers.push(await openWorker(each, options));
      const pool = new WorkerPool(options, folder, workers);
      await pool.#push((worker, error) => {
        throw refusal(worker, error);
      });
      return pool;
    } catch (error) {
      await Promise.all(workers.map(({ server }) => server.close()));
      await folder.close();
      throw error;
    }
  }

  /**
   * Independent rollouts of one question, all at one place; `rl` takes it as `task.rollout`.
   *
   * @throws what the agent throws; ERR_REMOTE when no place is left; ERR_ABORTED
   */
  readonly rollouts = async (
    question: Question,
    options: RolloutOptions & { readonly samples?: number } = {},
  ): Promise<Trajectory[]> => {
    const { samples = 1, signal } = options;
    await unlessAborted(this.#synchronise(), signal);
    for (let moves = 0; ; moves += 1) {
      const place = await this.#places.enter(samples, signal);
      try {
        const made = await place.agent.rollouts(question, options);
        const how = { worker: place.name, ...(moves === 0 ? {} : { moves }) };
        return made.map((trajectory) => ({ ...trajectory, ...how }));
      } catch (error) {
        if (!(error instanceof WorkerFault)) throw error;
        this.#fail(place, error);
      } finally {
        this.#places.leave(place, samples);
      }
    }
  };

  /** Gives back what workers were given; idempotent. The engine stays the caller's. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#pushing.catch(() => {});
    await Promise.all(this.#workers.map(({ server }) => server.close()));
    await this.#folder.close();
  }

  /** Closes at the end of an `await using` block. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** Once the weights have changed, no rollout begins before all workers have them or are out. */
  #synchronise(): Promise<void> {
    const { weightsVersion } = this.#options.policy;
    if (weightsVersion !== this.#version) {
      this.#version = weightsVersion;
      this.#numChanges += 1;
      this.#pushing = this.#pushing.then(() => this.#push(({ place }, error) => this.#fail(place, error)));
    }
    return this.#pushing;
  }

  async #push(onFailure: (worker: Worker, error: unknown) => void): Promise<void> {
    for (const { staleness, ...worker } of this.#workers)
      if (staleness !== undefined) this.#checkAge({ ...worker, staleness });
    const taking = this.#workers.filter(({ staleness }) => staleness === undefined);
    if (taking.length === 0) return;
    const weights = await this.#folder.write(this.#options.policy);
    const signal = this.#stopped;
    const loads = await Promise.allSettled(taking.map(({ server }) => server.load(weights, signal)));
    for (const [i, load] of loads.entries()) {
      const worker = taking[i]!;
      if (load.status === "rejected") onFailure(worker, load.reason);
      else if (this.#places.open(worker.place)) this.#warn(`worker ${worker.place.name}: is back`);
    }
  }

  /** One that is given no weights leaves when its own are too old, and is tried again until then. */
  #checkAge({ place, staleness }: Worker & { readonly staleness: number }): void {
    const age = this.#numChanges;
    if (age > staleness) this.#fail(place, `its weights are ${age} steps old, of at most ${staleness}`);
    else if (this.#places.open(place)) this.#warn(`worker ${place.name}: is tried again`);
  }

  /** Ends what is pushed. */
  get #stopped(): AbortSignal {
    const { signal } = this.#options;
    return signal ? AbortSignal.any([signal, this.#closing.signal]) : this.#closing.signal;
  }

  #fail(place: Place, error: unknown): void {
    const reason = typeof error === "string" ? error : messageOf(error);
    if (!this.#places.close(place, reason)) return;
    this.#warn(`worker ${place.name} leaves the pool: ${reason}`);
  }

  #warn(message: string): void {
    this.#options.onWarning?.(message);
  }
}

/** This rank's workers. @throws ERR_ARGUMENT where it has none and its engine is to make no rollouts */
function ownShare({ workers, processGroup, localConcurrency }: WorkerPoolOptions): readonly WorkerOptions[] {
  const { rank, size } = processGroup ?? { rank: 0, size: 1 };
  const own = workers.filter((_, i) => i % size === rank);
  if (own.length > 0 || localConcurrency !== 0) return own;
  const what = `expected a worker for each of ${size} ranks where their engines make no rollouts, got ${workers.length}`;
  throw new SeekError("ERR_ARGUMENT", `workers: ${what}`);
}

function localPlace({ agent, engine, localConcurrency }: WorkerPoolOptions): Place | undefined {
  const concurrency = localConcurrency ?? engine.maxBatchSequences ?? 256;
  return concurrency === 0 ? undefined : { name: localName, concurrency, agent: agent(engine) };
}

async function openWorker(
  { staleness, concurrency = 64, ...choice }: WorkerOptions,
  { agent, engine, tokenizer, policy, signal, maxTokens = engine.maxTokens }: WorkerPoolOptions,
): Promise<Worker> {
  const { eosIds, vocabSize } = tokenizer;
  const server = await openServer({ ...choice, eosIds, vocabSize, maxConcurrent: concurrency }, signal);
  const { name } = server;
  const room = server.maxTokens;
  if (maxTokens !== undefined && room !== undefined && room < maxTokens) {
    const remedy =
      "Remedy: start it with a longer context (vLLM: --max-model-len), or lower the agent's maxTokens";
    throw new SeekError(
      "ERR_ARGUMENT",
      `worker ${name}: expected room for ${maxTokens} tokens, got ${room}. ${remedy}`,
    );
  }
  const version = policy.weightsVersion;
  const source = tokenSource({ server, table: tokenizer, maxTokens: engine.maxTokens, version });
  await probe(server, signal);
  return { server, staleness, place: { name, concurrency, agent: agent(source) } };
}

/** One token of nothing in particular: a server that does not tell its ids is found before a step is begun. */
async function probe(server: TokenServer, signal: AbortSignal | undefined): Promise<void> {
  const draw = { seed: 0, maxTokens: 1, stop: [], temperature: 1, topP: 1 };
  try {
    await server.sample({ ids: Int32Array.of(0), ...draw, signal });
  } catch (error) {
    if (error instanceof SeekError && error.code === "ERR_REMOTE")
      throw new WorkerFault(server.name, error.message, { cause: error });
    throw error;
  }
}

function refusal({ server }: Worker, error: unknown): unknown {
  if (!(error instanceof SeekError) || error.code === "ERR_ABORTED") return error;
  const remedy = "Or declare with staleness for how many steps it may roll out with the weights that it has";
  const message = `worker ${server.name}: takes no weights: ${error.message}. ${remedy}`;
  return new SeekError(error.code, message, { cause: error });
}

/** What a model server measures of itself. */
import type { Counter, Histogram } from "prom-client";
import type { Engine } from "../../../lib/engine/engine.ts";
import { prometheus, ServerMetrics, secondsBuckets } from "../http/server-metrics.ts";
import type { ReplyEvent } from "../reply/reply.ts";
import type { LanguageModel } from "./language-model.ts";

/** Bounds of histograms of token counts. */
const tokenBuckets = [1, 4, 16, 64, 256, 1024, 4096, 16_384, 65_536];

/** Counters of an engine that are told, and what they count. */
const engineCounters = {
  numSteps: ["seekrl_engine_steps_total", "Steps of the engine"],
  numGenerated: ["seekrl_engine_sampled_tokens_total", "Tokens that were sampled"],
  numPrefilled: ["seekrl_engine_prefilled_tokens_total", "Tokens that were read without sampling"],
  numReused: ["seekrl_engine_reused_tokens_total", "Tokens that were not read again, being cached"],
  numPreemptions: ["seekrl_engine_preemptions_total", "Sequences that lost their blocks to others"],
} as const;

/** Who else is shown a reply. */
interface ReplyWatch {
  add(event: ReplyEvent): void;
  /** @param error - what it failed with */
  end(error?: unknown): void;
}

/** Times and tokens of replies by model, and what the engines hold. */
export class ModelMetrics extends ServerMetrics {
  readonly #firstSeconds: Histogram<"model">;
  readonly #replySeconds: Histogram<"model" | "outcome">;
  readonly #promptTokens: Histogram<"model">;
  readonly #cachedTokens: Counter<"model">;
  readonly #sampledTokens: Histogram<"model">;

  constructor(models: readonly LanguageModel[]) {
    super();
    const { Counter, Histogram } = prometheus();
    const registers = [this.registry];
    const histogram = <Label extends string>(
      [name, help]: readonly [string, string],
      labelNames: Label[],
      buckets: number[],
    ): Histogram<Label> => new Histogram({ name, help, labelNames, buckets, registers });
    const first = ["seekrl_first_token_seconds", "From a request to the first piece of its reply"] as const;
    const whole = ["seekrl_reply_seconds", "From a request to the end of its reply"] as const;
    this.#firstSeconds = histogram(first, ["model"], secondsBuckets);
    this.#replySeconds = histogram(whole, ["model", "outcome"], secondsBuckets);
    this.#promptTokens = histogram(["seekrl_prompt_tokens", "Tokens of prompts"], ["model"], tokenBuckets);
    this.#sampledTokens = histogram(["seekrl_sampled_tokens", "Tokens of a choice"], ["model"], tokenBuckets);
    this.#cachedTokens = new Counter({
      name: "seekrl_cached_prompt_tokens_total",
      help: "Tokens of prompts that were not computed again",
      labelNames: ["model"],
      registers,
    });
    this.#addEngines(models);
  }

  /**
   * Passes a reply on, and counts it.
   *
   * @param id - of the model
   * @param reply - its events
   * @param begin - is called when it begins, and gives who else is shown it
   */
  async *counted(
    id: string,
    reply: AsyncGenerator<ReplyEvent, void, undefined>,
    begin?: () => ReplyWatch | undefined,
  ): AsyncGenerator<ReplyEvent, void, undefined> {
    const startedAt = performance.now();
    const seconds = (): number => (performance.now() - startedAt) / 1000;
    let [isFirst, outcome] = [true, "stopped"];
    let failure: unknown;
    const watch = begin?.();
    try {
      for await (const event of reply) {
        if (event.type === "start") this.#begin(id, event);
        else if (isFirst) {
          isFirst = false;
          this.#firstSeconds.observe({ model: id }, seconds());
        }
        if (event.type === "finish") this.#sampledTokens.observe({ model: id }, event.numTokens);
        watch?.add(event);
        yield event;
      }
      outcome = "whole";
    } catch (error) {
      outcome = "failed";
      failure = error;
      throw error;
    } finally {
      watch?.end(failure);
      this.#replySeconds.observe({ model: id, outcome }, seconds());
    }
  }

  #begin(model: string, event: Extract<ReplyEvent, { type: "start" }>): void {
    if (event.choice !== 0) return;
    this.#promptTokens.observe({ model }, event.numPromptTokens);
    this.#cachedTokens.inc({ model }, event.numCachedTokens);
  }

  #addEngines(models: readonly LanguageModel[]): void {
    const admissions = new Set(models.map(({ admission }) => admission));
    const sumOf = (key: "numRunning" | "numWaiting") => () =>
      [...admissions].reduce((sum, admission) => sum + admission[key], 0);
    this.addGauge("seekrl_requests_running", "Requests that run", sumOf("numRunning"));
    this.addGauge("seekrl_requests_waiting", "Requests that wait for memory", sumOf("numWaiting"));
    const engines = [...new Set(models.map(({ engine }) => engine))];
    for (const [key, [name, help]] of Object.entries(engineCounters)) {
      this.#addCounter(name, help, () => totalOf(engines, key as keyof typeof engineCounters));
    }
    const blocks = (key: "numBlocks" | "numUsedBlocks" | "numSequences") => () => totalOf(engines, key);
    this.addGauge(
      "seekrl_sequences_open",
      "Sequences that hold memory or wait for it",
      blocks("numSequences"),
    );
    this.addGauge("seekrl_cache_blocks", "Blocks of keys and values", blocks("numBlocks"));
    const cacheBytes = async () =>
      (await Promise.all(engines.map(cacheBytesOf))).reduce((sum, bytes) => sum + bytes, 0);
    this.addGauge("seekrl_cache_bytes", "Memory of those blocks", cacheBytes);
    const loaded = [...new Set(engines.map(({ model }) => model))];
    const weightBytes = () => loaded.reduce((sum, model) => sum + model.numBytes, 0);
    this.addGauge("seekrl_weights_bytes", "Memory of the models' weights", weightBytes);
    this.addGauge("seekrl_cache_blocks_used", "Those of them that hold something", blocks("numUsedBlocks"));
  }

  #addCounter(name: string, help: string, read: () => Promise<number>): void {
    const { Counter } = prometheus();
    new Counter({
      ...{ name, help, registers: [this.registry] },
      async collect() {
        const total = await read();
        this.reset();
        this.inc(total);
      },
    });
  }
}

async function totalOf(
  engines: readonly Engine[],
  key: keyof typeof engineCounters | "numBlocks" | "numUsedBlocks" | "numSequences",
): Promise<number> {
  const stats = await Promise.all(engines.map((engine) => engine.stats()));
  return stats.reduce((sum, each) => sum + each[key], 0);
}

async function cacheBytesOf(engine: Engine): Promise<number> {
  return (await engine.stats()).numBlocks * engine.blockBytes;
}

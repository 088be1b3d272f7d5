/** What a pool of workers is given. */
import { countKind, type OptionKinds, optionsOf, wholeKind } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { type ProcessGroup, processGroupKind } from "../../lib/comm/process-group.ts";
import type { TokenTable } from "../../lib/engine/vocabulary.ts";
import type { Policy } from "../../lib/model/policy.ts";
import type { PolicyAgent } from "../../lib/rollout/agents/agent.ts";
import type { SequenceSource } from "../../lib/rollout/seams.ts";
import { type TransportOptions, transportKind } from "../remote/guard.ts";
import { type KeyOptions, keyKinds } from "../remote/secret.ts";

/** A server that rolls out: vLLM, SGLang or `seekrl serve`. */
export interface WorkerOptions extends KeyOptions {
  /** Its address, such as `http://host:8000`. */
  readonly url: string;
  /** Rollouts that are made there at once. @default 64 */
  readonly concurrency?: number | undefined;
  /**
   * Steps for which it takes part with the weights that it was started with, counted by how often rollouts have met other weights
   * since the pool was opened: nothing is pushed to it. @default it is given each step's weights before it rolls out
   */
  readonly staleness?: number | undefined;
  /** @default five minutes an attempt, fifteen in all, two more attempts */
  readonly transport?: Omit<TransportOptions, "maxConcurrent"> | undefined;
}

/** A pool's workers, and what its rollouts are made of. */
export interface WorkerPoolOptions {
  readonly workers: readonly WorkerOptions[];
  /** Makes the agent that rolls out over an engine, or over a worker in its place. */
  readonly agent: (engine: SequenceSource) => Pick<PolicyAgent, "rollouts">;
  /** The local engine. */
  readonly engine: SequenceSource & { readonly maxBatchSequences?: number };
  /** Says what ends a turn. */
  readonly tokenizer: Pick<TokenTable, "eosIds" | "tokenBytes" | "vocabSize">;
  /** What is trained: its weights are what workers are given. */
  readonly policy: Policy;
  /** Rollouts that the local engine makes at once; 0 leaves all to workers. @default the sequences of one of its steps */
  readonly localConcurrency?: number | undefined;
  /** Longest sequence of the agent, in tokens, which workers must have room for. @default the engine's */
  readonly maxTokens?: number | undefined;
  /** Where weights are written for workers; vLLM and SGLang must see it too. @default a temporary one of this machine */
  readonly folder?: string | undefined;
  /**
   * The ranks that roll out together, each with a pool of its share: worker i takes the weights of rank i modulo their number and rolls
   * out for it alone. A rank without a worker has its engine.
   *
   * @default one process
   */
  readonly processGroup?: ProcessGroup | undefined;
  /** Told of workers that fail, and that come back. @default nobody is */
  readonly onWarning?: ((message: string) => void) | undefined;
  /** Ends the opening, and what is pushed. */
  readonly signal?: AbortSignal | undefined;
}

const workerKind = optionsOf<WorkerOptions>(
  { url: "string", concurrency: countKind, staleness: wholeKind, transport: transportKind, ...keyKinds },
  ["url"],
);

/** The type of each. */
export const poolKinds: OptionKinds<WorkerPoolOptions> = {
  workers: (name, value) => {
    if (!Array.isArray(value) || value.length === 0)
      throw new SeekError("ERR_ARGUMENT", `${name}: expected a list of at least one worker`);
    for (const [i, each] of value.entries()) workerKind(`${name}[${i}]`, each);
  },
  agent: "function",
  engine: "object",
  tokenizer: "object",
  policy: "object",
  localConcurrency: wholeKind,
  maxTokens: countKind,
  folder: "string",
  processGroup: processGroupKind,
  onWarning: "function",
  signal: "signal",
};

/** What it cannot do without. */
export const poolRequired = ["workers", "agent", "engine", "tokenizer", "policy"] as const;

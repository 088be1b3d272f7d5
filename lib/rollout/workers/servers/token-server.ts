/** What a server that rolls out is asked for: ids in, the sampled ids and their log-probabilities out, and to take weights. */
import { SeekError } from "../../../base/errors.ts";
import type { Endpoint } from "../../../remote/endpoint.ts";

/** One turn. */
export interface TokenRequest {
  /** All that the sequence holds, i32 [T]. */
  readonly ids: Int32Array;
  /** Of the sequence. */
  readonly seed: number;
  readonly maxTokens: number;
  readonly stop: readonly string[];
  readonly temperature: number;
  readonly topP: number;
  readonly signal: AbortSignal | undefined;
}

/** What a server sampled. */
export interface SampledTokens {
  /** i32 [T]; it may go on behind the token that ends the turn. */
  readonly ids: Int32Array;
  /** f32 [T] */
  readonly logprobs: Float32Array;
  /** Whether those belong to another distribution than softmax(logits / temperature). */
  readonly isApproximate: boolean;
  readonly finish: "stop" | "length";
  /** The stop string that the server met. */
  readonly stopText: string | undefined;
  /** Of the weights that sampled, as they were pushed. @default none were */
  readonly version: number | undefined;
}

/** Weights as they were written for workers. */
export interface WrittenWeights {
  /** Of a model, or of an adapter. */
  readonly folder: string;
  readonly isAdapter: boolean;
  /** The policy's. */
  readonly version: number;
}

/** A server, whatever protocol it speaks. */
export interface TokenServer {
  /** Host and port. */
  readonly name: string;
  /** Longest sequence, in tokens. @default it does not say */
  readonly maxTokens: number | undefined;
  /** @throws ERR_REMOTE with the server's answer; ERR_ABORTED */
  sample(request: TokenRequest): Promise<SampledTokens>;
  /** Samples from these weights from now on. @throws ERR_REMOTE for a server that refuses; ERR_ARGUMENT for weights that its kind takes not */
  load(weights: WrittenWeights, signal?: AbortSignal): Promise<void>;
  /** Gives back what was loaded last, as far as it can be. */
  close(): Promise<void>;
}

/** What nobody needs any more is waited for no longer, milliseconds. */
export const unloadMs = 10_000;

/** How a server is reached. */
export interface ServerParts {
  readonly name: string;
  /** For turns; its address is the server's root. */
  readonly sampling: Endpoint;
  /** For weights. */
  readonly admin: Endpoint;
  /** Asked first, so that a server that is gone holds nobody up. */
  readonly hasty: Endpoint;
  /** The model's name there. */
  readonly model: string;
  readonly maxTokens: number | undefined;
  /** End a turn: those of the tokenizer. */
  readonly eosIds: readonly number[];
}

/** A failure of a worker: its rollouts can be made elsewhere. */
export class WorkerFault extends SeekError {
  constructor(worker: string, message: string, options?: ErrorOptions) {
    super("ERR_REMOTE", `worker ${worker}: ${message}`, options);
  }
}

/** @throws ERR_REMOTE for answers whose log-probabilities are not those of their ids */
export function checkedTokens(
  ids: readonly number[],
  logprobs: readonly (number | null)[],
): Pick<SampledTokens, "ids" | "logprobs"> {
  const isWhole = ids.length === logprobs.length && !logprobs.includes(null);
  if (isWhole) return { ids: Int32Array.from(ids), logprobs: Float32Array.from(logprobs as number[]) };
  const got = logprobs.filter((each) => each !== null).length;
  throw new SeekError("ERR_REMOTE", `expected a log-probability of each of ${ids.length} ids, got ${got}`);
}

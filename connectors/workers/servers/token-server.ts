/** What a server that rolls out is asked for: ids in, the sampled ids and their log-probabilities out, and to take weights. */
import { SeekError } from "../../../lib/base/errors.ts";
import type { Endpoint } from "../../remote/endpoint.ts";

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
  /** Of the tokenizer: one more than the largest id. */
  readonly vocabSize: number;
}

/** A failure of a worker: its rollouts can be made elsewhere. */
export class WorkerFault extends SeekError {
  constructor(worker: string, message: string, options?: ErrorOptions) {
    super("ERR_REMOTE", `worker ${worker}: ${message}`, options);
  }
}

/** Versions of pushed weights, newest first, that replies may be of. */
export class PushedVersions {
  #versions: readonly number[] = [];

  /** Weights that are about to be pushed: replies may be of them at once, and of those before while theirs are under way. */
  add(version: number): void {
    this.#versions = [version, ...this.#versions.slice(0, 2)];
  }

  /**
   * Begins a reply.
   *
   * @returns undefined where nothing was pushed; else what makes a version of what the reply tells, and throws ERR_REMOTE with
   *   `field`, its name, for another version than was pushed before or during the reply
   */
  begin(field: string): ((told: string | number | undefined) => number) | undefined {
    const before = this.#versions;
    if (before.length === 0) return undefined;
    return (told) => {
      const known = [...before, ...this.#versions].find((version) => String(version) === String(told));
      if (known !== undefined) return known;
      const why = "it was started again, or somebody else pushes to it too";
      const what = `${field}: expected ${before[0]}, which was pushed, got ${told ?? "none"}: ${why}`;
      throw new SeekError("ERR_REMOTE", what);
    };
  }
}

/** Rounding can lift the logarithm of 1 so far above 0. */
const mostLogprob = 1e-3;

/**
 * What a server tells of the tokens that it sampled.
 *
 * @param told - ids, and a log-probability of each
 * @param vocabSize - of the tokenizer
 * @throws ERR_REMOTE for ids that the tokenizer lacks, and for log-probabilities that are none or not those of the ids
 */
export function checkedTokens(
  { ids, logprobs }: { readonly ids: readonly number[]; readonly logprobs: readonly (number | null)[] },
  vocabSize: number,
): Pick<SampledTokens, "ids" | "logprobs"> {
  const refuse = (expected: string, got: string): never => {
    throw new SeekError("ERR_REMOTE", `expected ${expected}, got ${got}`);
  };
  const stranger = ids.find((id) => !(id >= 0 && id < vocabSize));
  if (stranger !== undefined) refuse(`ids from 0 to ${vocabSize - 1}, the tokenizer's`, `${stranger}`);
  const numbers = logprobs.filter((each) => each !== null);
  if (numbers.length !== ids.length || logprobs.length !== ids.length)
    refuse(`a log-probability of each of ${ids.length} ids`, `${numbers.length}`);
  const wrong = numbers.find((each) => !(Number.isFinite(each) && each <= mostLogprob));
  if (wrong !== undefined) refuse("log-probabilities of at most 0", `${wrong}`);
  return { ids: Int32Array.from(ids), logprobs: Float32Array.from(numbers) };
}

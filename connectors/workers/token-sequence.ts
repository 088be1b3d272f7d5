/** Sequences whose tokens are kept here and sampled by a server: what was sampled there is what is trained, id for id. */
import { SeekError } from "../../lib/base/errors.ts";
import { TokenList } from "../../lib/engine/token-list.ts";
import type {
  GeneratedSpan,
  GenerateRequest,
  OpenSequence,
  SequenceSource,
} from "../../lib/rollout/seams.ts";
import { type SampledTokens, type TokenServer, WorkerFault } from "./servers/token-server.ts";
import { type EndTable, turnEnd } from "./stop-cut.ts";

/** What sequences are sampled with. */
interface SequenceParts {
  readonly server: Pick<TokenServer, "name" | "sample">;
  readonly table: EndTable;
  /** The longest a sequence can grow, in tokens. */
  readonly maxTokens: number | undefined;
  /** Of the weights that the server has, where it does not say it. */
  readonly version: number;
}

/**
 * A server in place of an engine.
 *
 * @param parts - the server, and what ends turns
 * @returns a source of sequences; ERR_REMOTE of one is a {@link WorkerFault}
 */
export function tokenSource(parts: SequenceParts): SequenceSource {
  const { maxTokens } = parts;
  return {
    ...(maxTokens === undefined ? {} : { maxTokens }),
    open: (ids, { seed }) => new TokenServerSequence(parts, ids, seed),
  };
}

class TokenServerSequence implements OpenSequence {
  readonly #parts: SequenceParts;
  readonly #tokens: TokenList;
  #seed: number;

  constructor(parts: SequenceParts, ids: Int32Array, seed: number) {
    this.#parts = parts;
    this.#tokens = new TokenList(Int32Array.from(ids));
    this.#seed = seed;
  }

  async generate(request: GenerateRequest): Promise<GeneratedSpan> {
    const { server, version } = this.#parts;
    const { maxTokens, stop, temperature = 1, topP = 1, entropies = false, signal } = request;
    if (entropies) {
      const remedy = "Remedy: a local engine for this agent";
      throw new SeekError("ERR_ARGUMENT", `entropies: worker ${server.name} tells none. ${remedy}`);
    }
    const asked = { ids: this.#tokens.copy(), seed: this.#seed, maxTokens, stop, temperature, topP, signal };
    try {
      const sampled = await server.sample(asked);
      const { length, stop: why } = this.#end(sampled, stop);
      checkLength(length, maxTokens);
      const ids = sampled.ids.slice(0, length);
      this.#tokens.add(ids);
      return {
        ...{ ids, logprobs: sampled.logprobs.slice(0, length), stop: why },
        ...{ weightsVersion: sampled.version ?? version, isApproximate: sampled.isApproximate },
      };
    } catch (error) {
      if (!(error instanceof SeekError) || error instanceof WorkerFault) throw error;
      if (error.code === "ERR_ABORTED") return aborted(version);
      throw error.code === "ERR_REMOTE"
        ? new WorkerFault(server.name, error.message, { cause: error })
        : error;
    }
  }

  append(ids: Int32Array): void {
    this.#tokens.add(ids);
  }

  truncate(length: number, { seed = this.#seed }: { readonly seed?: number } = {}): void {
    this.#tokens.checkLength("length", length, 0);
    this.#tokens.truncate(length);
    this.#seed = seed;
  }

  fork({ seed }: { readonly seed: number }): TokenServerSequence {
    return new TokenServerSequence(this.#parts, this.#tokens.copy(), seed);
  }

  close(): void {}

  /** @throws ERR_REMOTE where the server ended the turn at an id that is no end here */
  #end(
    { ids, finish, stopText }: SampledTokens,
    stop: readonly string[],
  ): { readonly length: number; readonly stop: GeneratedSpan["stop"] } {
    const { table } = this.#parts;
    const end = turnEnd(ids, stop, table);
    if (end !== undefined) return end;
    if (finish === "length") return { length: ids.length, stop: "length" };
    if (stopText !== undefined && stop.includes(stopText)) return { length: ids.length, stop: "stop" };
    const expected = `one of ${table.eosIds.join(", ")} or a stop string`;
    const remedy = "Remedy: the same tokenizer's files on both sides";
    const what = `the turn's end: expected ${expected}, got ${ids.at(-1) ?? "no id"}. ${remedy}`;
    throw new SeekError("ERR_REMOTE", what);
  }
}

/** @throws ERR_REMOTE for a turn of nothing, and for a longer one than was asked for */
function checkLength(length: number, maxTokens: number): void {
  if (length >= 1 && length <= maxTokens) return;
  throw new SeekError("ERR_REMOTE", `expected a turn of 1 to ${maxTokens} ids, got ${length}`);
}

function aborted(weightsVersion: number): GeneratedSpan {
  return { ids: new Int32Array(), logprobs: new Float32Array(), stop: "aborted", weightsVersion };
}

/** The BPE model of a tokenizer.json: neighbours merge by rank, leftmost first. */
import { SeekError } from "../../../base/errors.ts";
import { MinHeap } from "../sentencepiece/min-heap.ts";
import type { Vocabulary } from "./vocabulary.ts";

/** What of the model decides, besides the vocabulary. */
interface BpeOptions {
  readonly merges: readonly (string | readonly [string, string])[];
  readonly unk_token?: string | null | undefined;
  /** Unknown characters in a row are one unknown token. */
  readonly fuse_unk?: boolean | null | undefined;
  readonly byte_fallback?: boolean | null | undefined;
  /** A piece that is a token stays whole. */
  readonly ignore_merges?: boolean | null | undefined;
}

/** A pair of neighbours that could become one token. */
interface Candidate {
  readonly rank: number;
  readonly left: number;
}

const maxCached = 10_000;
const maxCachedLength = 256;

/** Cuts pieces by BPE. */
export class JsonBpe {
  readonly vocabulary: Vocabulary;
  readonly #options: BpeOptions;
  readonly #unkId: number | undefined;
  /** Rank of the merge of two ids, by `left * #stride + right`. */
  readonly #ranks = new Map<number, number>();
  readonly #merged: number[] = [];
  readonly #stride: number;
  readonly #cache = new Map<string, readonly number[]>();

  /** @throws ERR_FORMAT when a merge or the unknown token is not in the vocabulary */
  constructor(vocabulary: Vocabulary, options: BpeOptions) {
    this.vocabulary = vocabulary;
    this.#options = options;
    this.#stride = vocabulary.tokens.length;
    this.#unkId = options.unk_token == null ? undefined : this.#known(options.unk_token);
    for (const [rank, merge] of options.merges.entries()) {
      const [left, right, ...others] = typeof merge === "string" ? merge.split(" ") : merge;
      if (left === undefined || right === undefined || others.length > 0)
        throw new SeekError(
          "ERR_FORMAT",
          `merges.${rank}: expected two tokens, got ${JSON.stringify(merge)}`,
        );
      this.#ranks.set(this.#known(left) * this.#stride + this.#known(right), rank);
      this.#merged.push(this.#known(left + right));
    }
  }

  #known(token: string): number {
    const id = this.vocabulary.idOf(token);
    if (id !== undefined) return id;
    throw new SeekError("ERR_FORMAT", `model: ${JSON.stringify(token)} is merged but not in the vocabulary`);
  }

  /** The ids of one piece; characters that are not known are dropped where there is no unknown token. */
  encode(piece: string): readonly number[] {
    const cached = this.#cache.get(piece);
    if (cached !== undefined) return cached;
    const whole = this.#options.ignore_merges === true ? this.vocabulary.idOf(piece) : undefined;
    const ids = whole === undefined ? this.#merge(this.#symbols(piece)) : [whole];
    if (piece.length < maxCachedLength) {
      if (this.#cache.size >= maxCached) this.#cache.clear();
      this.#cache.set(piece, ids);
    }
    return ids;
  }

  #symbols(piece: string): number[] {
    const ids: number[] = [];
    let isAfterUnknown = false;
    for (const char of piece) {
      const id = this.vocabulary.idOf(char);
      const bytes =
        id === undefined && this.#options.byte_fallback === true ? this.vocabulary.bytesOf(char) : undefined;
      const isUnknown = id === undefined && bytes === undefined;
      if (id !== undefined) ids.push(id);
      else if (bytes !== undefined) ids.push(...bytes);
      else if (this.#unkId !== undefined && !(isAfterUnknown && this.#options.fuse_unk === true))
        ids.push(this.#unkId);
      isAfterUnknown = isUnknown;
    }
    return ids;
  }

  #merge(ids: number[]): readonly number[] {
    const previous = ids.map((_, i) => i - 1);
    const next = ids.map((_, i) => i + 1);
    const queue = new MinHeap<Candidate>((a, b) => a.rank - b.rank || a.left - b.left);
    const rankAt = (left: number): number | undefined => {
      const right = next[left] as number;
      if (right >= ids.length) return undefined;
      return this.#ranks.get((ids[left] as number) * this.#stride + (ids[right] as number));
    };
    const consider = (left: number): void => {
      const rank = left < 0 ? undefined : rankAt(left);
      if (rank !== undefined) queue.push({ rank, left });
    };
    for (let i = 0; i + 1 < ids.length; ++i) consider(i);
    for (let best = queue.pop(); best !== undefined; best = queue.pop()) {
      const { rank, left } = best;
      // What stood here may have merged with something else; -1 marks what has been swallowed.
      if (ids[left] === -1 || rankAt(left) !== rank) continue;
      const right = next[left] as number;
      const after = next[right] as number;
      ids[left] = this.#merged[rank] as number;
      ids[right] = -1;
      next[left] = after;
      if (after < ids.length) previous[after] = left;
      consider(previous[left] as number);
      consider(left);
    }
    return ids.filter((id) => id >= 0);
  }
}

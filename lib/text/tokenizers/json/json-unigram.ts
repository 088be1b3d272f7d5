/** The Unigram model of a tokenizer.json: the best path by sums in f64, as the reference library has it. */
import { SeekError } from "../../../base/errors.ts";
import { Vocabulary } from "./vocabulary.ts";

/** What of the model decides. */
interface UnigramFile {
  /** Tokens with their log-probabilities. */
  readonly vocab: readonly (readonly [string, number])[];
  readonly unk_id?: number | null | undefined;
  readonly byte_fallback?: boolean | null | undefined;
}

/** What an unknown character costs beyond the least likely token. */
const unknownPenalty = 10;

/** The best way to cut the text up to one place. */
interface Best {
  readonly score: number;
  readonly start: number;
  readonly id: number;
}

/** Cuts pieces into tokens; unknown characters in a row are one token. */
export class JsonUnigram {
  readonly vocabulary = new Vocabulary();
  readonly #scores: readonly number[];
  readonly #prefixes = new Set<string>();
  readonly #unkId: number | undefined;
  readonly #unkScore: number;
  readonly #hasByteFallback: boolean;

  /** @throws ERR_FORMAT when the unknown id is not in the vocabulary */
  constructor({ vocab, unk_id, byte_fallback }: UnigramFile) {
    for (const [id, [token]] of vocab.entries()) this.vocabulary.add(token, id);
    this.#scores = vocab.map(([, score]) => score);
    this.#unkId = unk_id ?? undefined;
    this.#hasByteFallback = byte_fallback ?? false;
    if (this.#unkId !== undefined && this.#unkId >= vocab.length)
      throw new SeekError("ERR_FORMAT", `model: unk_id: expected below ${vocab.length}, got ${unk_id}`);
    this.#unkScore = this.#scores.reduce((least, score) => Math.min(least, score)) - unknownPenalty;
    for (const [token] of vocab) {
      for (let end = 1; end <= token.length; ++end) this.#prefixes.add(token.slice(0, end));
    }
  }

  /** The ids of one piece. @throws ERR_ARGUMENT for a character that is not known where there is no unknown token */
  encode(piece: string): number[] {
    const ids: number[] = [];
    for (const token of this.#cut(piece)) {
      const id = this.vocabulary.idOf(token);
      if (id !== undefined) ids.push(id);
      else ids.push(...((this.#hasByteFallback && this.vocabulary.bytesOf(token)) || [this.#unknown(token)]));
    }
    return ids;
  }

  #unknown(token: string): number {
    if (this.#unkId !== undefined) return this.#unkId;
    throw new SeekError(
      "ERR_ARGUMENT",
      `text: "${token}" is not in the vocabulary, which has no token for unknown`,
    );
  }

  #cut(text: string): string[] {
    const best = this.#bestPaths(text);
    const tokens: string[] = [];
    let unknown = "";
    for (let end = text.length; end > 0; ) {
      const { start, id } = best[end] as Best;
      const token = text.slice(start, end);
      if (id === this.#unkId) unknown = token + unknown;
      else {
        if (unknown !== "") tokens.push(unknown);
        unknown = "";
        tokens.push(token);
      }
      end = start;
    }
    if (unknown !== "") tokens.push(unknown);
    return tokens.reverse();
  }

  #bestPaths(text: string): (Best | undefined)[] {
    const best: (Best | undefined)[] = new Array(text.length + 1);
    best[0] = { score: 0, start: -1, id: -1 };
    for (let start = 0; start < text.length; ) {
      const charLength = (text.codePointAt(start) as number) > 0xffff ? 2 : 1;
      this.#extend(text, start, start + charLength, best);
      start += charLength;
    }
    return best;
  }

  #extend(text: string, start: number, charEnd: number, best: (Best | undefined)[]): void {
    const soFar = (best[start] as Best).score;
    let hasChar = false;
    const offer = (end: number, score: number, id: number): void => {
      const known = best[end];
      if (known === undefined || score > known.score) best[end] = { score, start, id };
    };
    for (let end = charEnd; end <= text.length; ++end) {
      const part = text.slice(start, end);
      if (!this.#prefixes.has(part)) break;
      const id = this.vocabulary.idOf(part);
      if (id === undefined) continue;
      offer(end, (this.#scores[id] as number) + soFar, id);
      hasChar ||= end === charEnd;
    }
    if (!hasChar) offer(charEnd, this.#unkScore + soFar, this.#unkId ?? -1);
  }
}

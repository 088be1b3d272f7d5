/** SentencePiece's two encoders, BPE by score and unigram by the best path, over normalised text. */
import { MinHeap } from "./min-heap.ts";
import { pieceTypes, type SentencePieceModel } from "./sentencepiece-model.ts";

/** A stretch of the normalised text with its id, which is the unknown one where no piece fits. */
export interface PieceSpan {
  readonly text: string;
  readonly id: number;
}

/** Ids of pieces that text can be cut into; `longestUserDefined` finds a user's own symbol at a place. */
export class PieceIndex {
  readonly #model: SentencePieceModel;
  readonly #ids = new Map<string, number>();
  readonly #userDefined: readonly string[];

  constructor(model: SentencePieceModel) {
    this.#model = model;
    const isText = (type: number): boolean =>
      type === pieceTypes.normal || type === pieceTypes.userDefined || type === pieceTypes.unused;
    model.pieces.forEach(({ text, type }, id) => {
      if (isText(type)) this.#ids.set(text, id);
    });
    const userDefined = model.pieces.filter(({ type }) => type === pieceTypes.userDefined);
    this.#userDefined = userDefined.map(({ text }) => text).sort((a, b) => b.length - a.length);
  }

  /** The id of a whole piece; undefined when there is none. */
  idOf(text: string): number | undefined {
    return this.#ids.get(text);
  }

  /** Its log-probability (unigram) or its rank, negated (BPE). */
  score(id: number): number {
    return this.#model.pieces[id]?.score ?? 0;
  }

  /** Whether a piece is of one type. */
  isType(id: number, type: keyof typeof pieceTypes): boolean {
    return this.#model.pieces[id]?.type === pieceTypes[type];
  }

  /** All pieces with their ids. */
  texts(): Iterable<[string, number]> {
    return this.#ids;
  }

  /** The longest of the user's own symbols that begins at `start`. */
  longestUserDefined(text: string, start: number): string | undefined {
    return this.#userDefined.find((symbol) => text.startsWith(symbol, start));
  }
}

/** A pair of neighbours that could become one piece. */
interface Merge {
  readonly score: number;
  readonly left: number;
  readonly right: number;
  readonly text: string;
}

/** The text as a linked list of symbols that merge two by two, best score first, leftmost first. */
class BpeRun {
  readonly #index: PieceIndex;
  readonly #texts: string[] = [];
  readonly #previous: number[] = [];
  readonly #next: number[] = [];
  readonly #isFixed: boolean[] = [];
  /** Unused pieces are made on the way, and taken apart again at the end. */
  readonly #unusedParts = new Map<string, readonly [string, string]>();
  readonly #merges = new MinHeap<Merge>((a, b) => b.score - a.score || a.left - b.left);

  constructor(index: PieceIndex, text: string) {
    this.#index = index;
    for (let at = 0; at < text.length; at += (this.#texts.at(-1) as string).length) {
      const own = index.longestUserDefined(text, at);
      this.#texts.push(own ?? String.fromCodePoint(text.codePointAt(at) as number));
      this.#isFixed.push(own !== undefined);
    }
    for (let i = 0; i < this.#texts.length; ++i) {
      this.#previous.push(i - 1);
      this.#next.push(i + 1 < this.#texts.length ? i + 1 : -1);
    }
  }

  run(): string[] {
    for (let i = 0; i + 1 < this.#texts.length; ++i) this.#consider(i, i + 1);
    for (let merge = this.#merges.pop(); merge !== undefined; merge = this.#merges.pop()) this.#apply(merge);
    const pieces: string[] = [];
    for (let i = this.#texts.length === 0 ? -1 : 0; i >= 0; i = this.#next[i] as number) {
      this.#split(this.#texts[i] as string, pieces);
    }
    return pieces;
  }

  #consider(left: number, right: number): void {
    if (left < 0 || right < 0 || this.#isFixed[left] || this.#isFixed[right]) return;
    const parts = [this.#texts[left] as string, this.#texts[right] as string] as const;
    const text = parts[0] + parts[1];
    const id = this.#index.idOf(text);
    if (id === undefined) return;
    this.#merges.push({ score: this.#index.score(id), left, right, text });
    if (this.#index.isType(id, "unused")) this.#unusedParts.set(text, parts);
  }

  #apply({ left, right, text }: Merge): void {
    const [a, b] = [this.#texts[left] as string, this.#texts[right] as string];
    if (a === "" || b === "" || a.length + b.length !== text.length) return;
    this.#texts[left] = text;
    this.#texts[right] = "";
    const after = this.#next[right] as number;
    this.#next[left] = after;
    if (after >= 0) this.#previous[after] = left;
    this.#consider(this.#previous[left] as number, left);
    this.#consider(left, after);
  }

  #split(text: string, pieces: string[]): void {
    const id = this.#index.idOf(text);
    const parts =
      id !== undefined && this.#index.isType(id, "unused") ? this.#unusedParts.get(text) : undefined;
    if (parts === undefined) pieces.push(text);
    else for (const part of parts) this.#split(part, pieces);
  }
}

/** Cuts text by BPE. */
export function bpe(index: PieceIndex, unkId: number, text: string): PieceSpan[] {
  return new BpeRun(index, text).run().map((piece) => ({ text: piece, id: index.idOf(piece) ?? unkId }));
}

/** The best way to cut the text up to one place. */
interface Best {
  readonly score: number;
  readonly start: number;
  readonly id: number;
}

/** Cuts text into the pieces whose scores sum up highest; sums are f32, as in the reference, so that ties agree. */
export class Unigram {
  readonly #index: PieceIndex;
  readonly #unkId: number;
  readonly #prefixes = new Set<string>();
  readonly #unkScore: number;
  readonly #maxScore: number;

  constructor(index: PieceIndex, model: SentencePieceModel) {
    this.#index = index;
    this.#unkId = model.unkId;
    for (const [text] of index.texts()) {
      for (let end = 1; end <= text.length; ++end) this.#prefixes.add(text.slice(0, end));
    }
    let [min, max] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY];
    for (const { score, type } of model.pieces) {
      if (type !== pieceTypes.normal) continue;
      min = Math.min(min, score);
      max = Math.max(max, score);
    }
    this.#unkScore = Math.fround(min - 10);
    this.#maxScore = max;
  }

  /** Cuts a normalised text. */
  encode(text: string): PieceSpan[] {
    const best: (Best | undefined)[] = new Array(text.length + 1);
    best[0] = { score: 0, start: -1, id: -1 };
    let start = 0;
    while (start < text.length) {
      const length = (text.codePointAt(start) as number) > 0xffff ? 2 : 1;
      this.#extend(text, start, length, best);
      start += length;
    }
    const spans: PieceSpan[] = [];
    for (let end = text.length; end > 0; ) {
      const { start, id } = best[end] as Best;
      spans.push({ text: text.slice(start, end), id });
      end = start;
    }
    return spans.reverse();
  }

  #extend(text: string, start: number, charLength: number, best: (Best | undefined)[]): void {
    const soFar = (best[start] as Best).score;
    let hasChar = false;
    const offer = (end: number, sum: number, id: number): void => {
      const known = best[end];
      const score = Math.fround(sum);
      if (known === undefined || score > known.score) best[end] = { score, start, id };
    };
    for (let end = start + 1; end <= text.length; ++end) {
      const part = text.slice(start, end);
      if (!this.#prefixes.has(part)) break;
      const id = this.#index.idOf(part);
      if (id === undefined || this.#index.isType(id, "unused")) continue;
      offer(end, this.#scoreOf(id, part) + soFar, id);
      if (end - start === charLength) hasChar = true;
    }
    if (!hasChar) offer(start + charLength, Math.fround(this.#unkScore + soFar), this.#unkId);
  }

  #scoreOf(id: number, part: string): number {
    if (!this.#index.isType(id, "userDefined")) return this.#index.score(id);
    return Buffer.byteLength(part) * this.#maxScore - 0.1;
  }
}

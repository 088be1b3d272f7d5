/** Texts that begin alike as a tree of spans, in which each token stands once. */

/**
 * An order in which texts that begin alike stand side by side. The order itself means nothing: that of the bytes.
 *
 * @param a - ids
 * @param b - ids
 * @returns below, at or above 0, as `sort` takes it
 */
export function compareTexts(a: Int32Array, b: Int32Array): number {
  return Buffer.compare(
    Buffer.from(a.buffer, a.byteOffset, a.byteLength),
    Buffer.from(b.buffer, b.byteOffset, b.byteLength),
  );
}

/** How many ids two texts begin with together. */
export function numShared(a: Int32Array, b: Int32Array): number {
  const most = Math.min(a.length, b.length);
  let shared = 0;
  while (shared < most && a[shared] === b[shared]) shared += 1;
  return shared;
}

/** How many tokens a tree of texts has, and would have with more. */
export class TreeSize {
  readonly #texts: Int32Array[] = [];
  #numTokens = 0;

  /** Tokens of the tree. */
  get numTokens(): number {
    return this.#numTokens;
  }

  /** How many tokens more the tree would have with these texts, which stand in the order of {@link compareTexts}. */
  added(texts: readonly Int32Array[]): number {
    let sum = 0;
    for (const [i, text] of texts.entries()) {
      const place = this.#place(text);
      const neighbours = [this.#texts[place - 1], this.#texts[place], texts[i - 1]];
      sum += text.length - Math.max(...neighbours.map((other) => (other ? numShared(other, text) : 0)));
    }
    return sum;
  }

  add(texts: readonly Int32Array[]): void {
    this.#numTokens += this.added(texts);
    for (const text of texts) this.#texts.splice(this.#place(text), 0, text);
  }

  #place(text: Int32Array): number {
    let [low, high] = [0, this.#texts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compareTexts(this.#texts[middle]!, text) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** A tree of spans, parents first. */
interface PrefixTree {
  /** Ids `[T]`. */
  readonly tokens: Int32Array;
  /** `[S + 1]` offsets into the tokens. */
  readonly starts: Int32Array;
  /** The span that each continues, `[S]`, or -1. */
  readonly parents: Int32Array;
  /** Per text, the place of each of its tokens among `tokens`. */
  readonly places: readonly Int32Array[];
}

/**
 * Lays texts out as a tree.
 *
 * @param texts - ids of each
 * @returns spans that end where texts part
 * @example
 * const tree = prefixTree([Int32Array.of(1, 2, 3), Int32Array.of(1, 2, 4, 5)]);
 * assert.deepEqual([...tree.tokens], [1, 2, 3, 4, 5]);
 * assert.deepEqual([...tree.parents], [-1, 0, 0]);
 */
export function prefixTree(texts: readonly Int32Array[]): PrefixTree {
  const order = texts.map((_, i) => i).sort((a, b) => compareTexts(texts[a]!, texts[b]!) || a - b);
  const shared = order.map((text, i) => (i === 0 ? 0 : numShared(texts[order[i - 1]!]!, texts[text]!)));
  const places = texts.map(({ length }) => new Int32Array(length));
  const tokens: number[] = [];
  const starts: number[] = [];
  const parents: number[] = [];

  /** The part of the texts `[first, end)` of the order behind `depth` tokens that they share. */
  const grow = (first: number, end: number, depth: number, parent: number): void => {
    // The first of the order may end where the others go on.
    let common = texts[order[first]!]!.length;
    for (let i = first + 1; i < end; i += 1) common = Math.min(common, shared[i]!);
    let span = parent;
    if (common > depth) {
      span = starts.push(tokens.length) - 1;
      parents.push(parent);
      for (let i = first; i < end; i += 1)
        for (let at = depth; at < common; at += 1) places[order[i]!]![at] = tokens.length + at - depth;
      for (const id of texts[order[first]!]!.subarray(depth, common)) tokens.push(id);
    }
    let begin = first;
    while (begin < end && texts[order[begin]!]!.length === common) begin += 1;
    for (let i = begin + 1; i <= end; i += 1) {
      if (i < end && shared[i]! > common) continue;
      if (begin < i) grow(begin, i, common, span);
      begin = i;
    }
  };

  if (texts.length > 0) grow(0, texts.length, 0, -1);
  return {
    tokens: Int32Array.from(tokens),
    starts: Int32Array.from([...starts, tokens.length]),
    parents: Int32Array.from(parents),
    places,
  };
}

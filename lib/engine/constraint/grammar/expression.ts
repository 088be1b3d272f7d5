/** Grammars as expressions over the bytes of UTF-8. */

/** One byte of a range, both ends included. */
interface ByteRange {
  readonly kind: "bytes";
  readonly from: number;
  readonly to: number;
}

/** The bytes of a text from a place on. */
export interface Text {
  readonly kind: "text";
  readonly bytes: Uint8Array;
  readonly at: number;
  /** What follows its first byte, once it was asked for. */
  tail?: Text;
}

/** One part after the other. */
interface Sequence {
  readonly kind: "sequence";
  readonly parts: readonly Expression[];
}

/** One of the ways. */
interface Choice {
  readonly kind: "choice";
  readonly ways: readonly Expression[];
}

/** As often as that. */
export interface Repeat {
  readonly kind: "repeat";
  readonly item: Expression;
  readonly least: number;
  readonly most: number;
  /** What follows one of them, once it was asked for. */
  fewer?: Repeat;
}

/** What has a name, so that it can be used within itself. */
export interface Rule {
  readonly kind: "rule";
  body: Expression;
}

/** What a text matches. */
export type Expression = ByteRange | Text | Sequence | Choice | Repeat | Rule;

/** The empty text. */
export const nothing: Expression = { kind: "sequence", parts: [] };

/** Any bytes at all. */
export const anyBytes: Expression = repeat(byteRange(0, 255), 0, Number.POSITIVE_INFINITY);

export function byteRange(from: number, to: number): Expression {
  return { kind: "bytes", from, to };
}

export function text(bytes: Uint8Array | string): Expression {
  const all = typeof bytes === "string" ? Buffer.from(bytes) : bytes;
  return all.length === 0 ? nothing : { kind: "text", bytes: all, at: 0 };
}

export function sequence(parts: readonly Expression[]): Expression {
  return parts.length === 1 ? (parts[0] as Expression) : { kind: "sequence", parts };
}

export function repeat(item: Expression, least: number, most: number): Expression {
  return { kind: "repeat", item, least, most };
}

/** One of the ways; texts among them become a trie, so that thousands cost no more than their bytes. */
export function choice(ways: readonly Expression[]): Expression {
  const texts = ways.filter((way): way is Text => way.kind === "text");
  if (texts.length < 2) return ways.length === 1 ? (ways[0] as Expression) : { kind: "choice", ways };
  const sorted = texts.map(({ bytes }) => bytes).sort(Buffer.compare);
  const distinct = sorted.filter(
    (each, i) => i === 0 || Buffer.compare(each, sorted[i - 1] as Uint8Array) !== 0,
  );
  const others = ways.filter((way) => way.kind !== "text");
  const merged = trie(distinct, 0);
  return others.length === 0 ? merged : { kind: "choice", ways: [...others, merged] };
}

/** Texts that begin alike as what they share and what follows. @param texts - sorted, distinct */
function trie(texts: readonly Uint8Array[], at: number): Expression {
  const [first, last] = [texts[0], texts.at(-1)] as [Uint8Array, Uint8Array];
  if (texts.length === 1) return text(first.subarray(at));
  let end = at;
  while (end < first.length && first[end] === last[end]) end += 1;
  const ways: Expression[] = first.length === end ? [nothing] : [];
  for (let from = ways.length; from < texts.length; ) {
    let to = from + 1;
    while (to < texts.length && texts[to]?.[end] === texts[from]?.[end]) to += 1;
    ways.push(trie(texts.slice(from, to), end));
    from = to;
  }
  return sequence([text(first.subarray(at, end)), { kind: "choice", ways }]);
}

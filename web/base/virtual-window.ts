/** Which rows of a long list are drawn, and which pages of it are fetched. */

/** A list's measures, pixels. */
interface ListView {
  readonly scrollTop: number;
  readonly viewHeight: number;
  readonly rowHeight: number;
  /** Rows of the whole list. */
  readonly count: number;
  /** Rows that are drawn beyond either end of what is seen. @default 8 */
  readonly overscan?: number;
}

/** Rows from `first` up to, not including, `end`. */
export interface Span {
  readonly first: number;
  readonly end: number;
}

/**
 * The rows that have to be drawn.
 *
 * @param view - the list's measures
 * @returns rows that exist; an empty span of an empty list
 */
export function windowOf({ scrollTop, viewHeight, rowHeight, count, overscan = 8 }: ListView): Span {
  const seenFirst = Math.floor(Math.max(0, scrollTop) / rowHeight);
  const seenEnd = Math.ceil((Math.max(0, scrollTop) + viewHeight) / rowHeight);
  const end = Math.min(count, seenEnd + overscan);
  return { first: Math.max(0, Math.min(seenFirst - overscan, end)), end };
}

/**
 * The pages that a span of rows needs.
 *
 * @param span - rows
 * @param pageSize - rows of a page
 * @returns their numbers, ascending
 */
export function pagesOf({ first, end }: Span, pageSize: number): number[] {
  const from = Math.floor(first / pageSize);
  const to = Math.ceil(end / pageSize);
  return Array.from({ length: Math.max(0, to - from) }, (_, i) => from + i);
}

/**
 * Where a list has to be scrolled to for a row to be seen whole.
 *
 * @param row - its number
 * @param view - the list's measures
 * @returns pixels; where it stands when the row is seen already
 */
export function scrollTo(row: number, { scrollTop, viewHeight, rowHeight }: ListView): number {
  const top = row * rowHeight;
  if (top < scrollTop) return top;
  return top + rowHeight > scrollTop + viewHeight ? top + rowHeight - viewHeight : scrollTop;
}

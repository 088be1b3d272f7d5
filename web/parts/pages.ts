/** Long lists that are fetched page by page, as far as they are seen. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { pagesOf } from "../base/virtual-window.ts";

/** A page of a long list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Rows of the whole list. */
  readonly matching: number;
}

/** What is known of a list. */
export interface Pages<Row, Head extends Page<Row>> {
  /** The page that came last. */
  readonly head: Head | undefined;
  readonly error: Error | undefined;
  /** The row at a place; undefined while it is fetched. */
  readonly rowAt: (place: number) => Row | undefined;
  /** Where a row stands, of those that were fetched. */
  readonly placeOf: (isWanted: (row: Row) => boolean) => number | undefined;
  /** Is told which places are seen. */
  readonly onWindow: (first: number, end: number) => void;
}

const pageSize = 100;

/** What was fetched under one key. */
interface Fetched<Row, Head> {
  readonly key: string;
  readonly head?: Head;
  readonly error?: Error;
  readonly pages: ReadonlyMap<number, readonly Row[]>;
}

type Load<Head> = (
  place: { readonly offset: number; readonly limit: number },
  signal: AbortSignal,
) => Promise<Head>;

/**
 * Fetches the pages of a list that are seen, and keeps them for as long as `key` stays.
 *
 * @param key - what the list depends on: its filters
 * @param load - fetches rows from a place on
 */
export function usePages<Row, Head extends Page<Row>>(key: string, load: Load<Head>): Pages<Row, Head> {
  const [state, setState] = useState<Fetched<Row, Head>>({ key: "", pages: new Map() });
  const asked = useRef({ key: "", pages: new Set<number>(), stop: new AbortController() });
  const latest = useRef(load);
  latest.current = load;
  const fetchPage = useCallback((page: number) => {
    const { key: own, pages, stop } = asked.current;
    if (pages.has(page)) return;
    pages.add(page);
    latest.current({ offset: page * pageSize, limit: pageSize }, stop.signal).then(
      (head) => stop.signal.aborted || setState((old) => withPage(old, { key: own, page, head })),
      (error: Error) => {
        pages.delete(page);
        if (!stop.signal.aborted) setState((old) => ({ ...old, key: own, error }));
      },
    );
  }, []);
  const seen = useRef<readonly number[]>([]);
  useEffect(() => {
    asked.current.stop.abort();
    asked.current = { key, pages: new Set(), stop: new AbortController() };
    for (const page of [0, ...seen.current]) fetchPage(page);
    return () => asked.current.stop.abort();
  }, [key, fetchPage]);
  const onWindow = useCallback(
    (first: number, end: number) => {
      seen.current = pagesOf({ first, end }, pageSize);
      seen.current.forEach(fetchPage);
    },
    [fetchPage],
  );
  return { head: state.head, error: state.error, ...lookIn(state.pages), onWindow };
}

/** With one page more; those of another key make room. */
function withPage<Row, Head extends Page<Row>>(
  old: Fetched<Row, Head>,
  { key, page, head }: { readonly key: string; readonly page: number; readonly head: Head },
): Fetched<Row, Head> {
  return { key, head, pages: new Map([...(old.key === key ? old.pages : []), [page, head.rows]]) };
}

function lookIn<Row>(
  pages: ReadonlyMap<number, readonly Row[]>,
): Pick<Pages<Row, Page<Row>>, "rowAt" | "placeOf"> {
  return {
    rowAt: (place) => pages.get(Math.floor(place / pageSize))?.[place % pageSize],
    placeOf: (isWanted) => {
      for (const [page, rows] of pages) {
        const at = rows.findIndex(isWanted);
        if (at >= 0) return page * pageSize + at;
      }
      return undefined;
    },
  };
}

/** What the choice of a row needs of its list. */
interface ChoiceOptions<Row> {
  readonly list: Pick<Pages<Row, Page<Row>>, "rowAt" | "placeOf">;
  /** Whether a row is the one that is open. */
  readonly isOpen: (row: Row) => boolean;
  readonly open: (row: Row) => void;
  /** Where the open row must be, when it was not fetched yet. */
  readonly expected?: number | undefined;
}

/** The place that is chosen, by key or pointer; a row that is not there yet is opened once it is. */
export function useChoice<Row>({ list, isOpen, open, expected }: ChoiceOptions<Row>) {
  const [wanted, want] = useState<number>();
  const row = wanted === undefined ? undefined : list.rowAt(wanted);
  const latest = useRef(open);
  latest.current = open;
  useEffect(() => {
    if (row === undefined) return;
    latest.current(row);
    want(undefined);
  }, [row]);
  return { chosen: wanted ?? list.placeOf(isOpen) ?? expected, choose: want };
}

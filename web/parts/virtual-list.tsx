/** A list of any length of which only what is seen is drawn and fetched. */
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { pagesOf, scrollTo, windowOf } from "../base/virtual-window.ts";

/** What a list shows. */
interface VirtualListProps<Row> {
  /** For screen readers. */
  readonly label: string;
  readonly count: number;
  readonly rowHeight: number;
  readonly class?: string;
  /** The row at a place; undefined while it is fetched. */
  readonly rowAt: (place: number) => Row | undefined;
  readonly draw: (row: Row) => ComponentChildren;
  /** Told which places are drawn. */
  readonly onWindow?: (first: number, end: number) => void;
  readonly chosen?: number | undefined;
  readonly onChoose: (place: number) => void;
}

const moves: Readonly<Record<string, number>> = {
  ArrowDown: 1,
  ArrowUp: -1,
  j: 1,
  k: -1,
  PageDown: 12,
  PageUp: -12,
  Home: Number.NEGATIVE_INFINITY,
  End: Number.POSITIVE_INFINITY,
};

/** Height and place of a scrolled element, followed. */
function useView(rowHeight: number, count: number) {
  const box = useRef<HTMLDivElement>(null);
  const [view, setView] = useState({ scrollTop: 0, viewHeight: 800 });
  const follow = useCallback(() => {
    const { scrollTop = 0, clientHeight = 800 } = box.current ?? {};
    setView((old) =>
      old.scrollTop === scrollTop && old.viewHeight === clientHeight
        ? old
        : { scrollTop, viewHeight: clientHeight },
    );
  }, []);
  useLayoutEffect(() => {
    follow();
    const watcher = new ResizeObserver(follow);
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, [follow]);
  return { box, follow, view: { ...view, rowHeight, count } };
}

/** A list box: arrows, Page, Home and End move through it, and choose. */
export function VirtualList<Row>(props: VirtualListProps<Row>): JSX.Element {
  const { label, count, rowHeight, rowAt, draw, onWindow, chosen, onChoose } = props;
  const { box, follow, view } = useView(rowHeight, count);
  const { first, end } = windowOf(view);
  useEffect(() => onWindow?.(first, end), [onWindow, first, end]);
  const hasRows = count > 0;
  const show = (place: number): void => {
    if (box.current) box.current.scrollTop = scrollTo(place, { ...view, scrollTop: box.current.scrollTop });
  };
  useEffect(() => {
    if (chosen !== undefined && hasRows) show(chosen);
  }, [chosen, hasRows]);
  const move = (event: KeyboardEvent): void => {
    const by = moves[event.key];
    if (by === undefined || event.metaKey || event.ctrlKey || count === 0) return;
    event.preventDefault();
    onChoose(Math.min(count - 1, Math.max(0, (chosen ?? -1) + by)));
  };
  const places = Array.from({ length: end - first }, (_, i) => first + i);
  return (
    <div
      class={`rows ${props.class ?? ""}`}
      ref={box}
      role="listbox"
      aria-label={label}
      aria-activedescendant={chosen === undefined ? undefined : `${label}-${chosen}`}
      tabIndex={0}
      onScroll={follow}
      onKeyDown={move}
    >
      <div class="rows-inner" style={{ height: `${count * rowHeight}px` }}>
        {places.map((place) => (
          <Line key={place} {...{ label, place, count, rowHeight, isChosen: place === chosen, onChoose }}>
            {lineOf(rowAt(place), draw)}
          </Line>
        ))}
      </div>
    </div>
  );
}

function lineOf<Row>(row: Row | undefined, draw: (row: Row) => ComponentChildren): ComponentChildren {
  return row === undefined ? <span class="placeholder" /> : draw(row);
}

interface LineProps {
  readonly label: string;
  readonly place: number;
  readonly count: number;
  readonly rowHeight: number;
  readonly isChosen: boolean;
  readonly onChoose: (place: number) => void;
  readonly children: ComponentChildren;
}

function Line({ label, place, count, rowHeight, isChosen, onChoose, children }: LineProps): JSX.Element {
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys of all its rows
    <div
      class={isChosen ? "row at" : "row"}
      id={`${label}-${place}`}
      role="option"
      aria-selected={isChosen}
      aria-posinset={place + 1}
      aria-setsize={count}
      tabIndex={-1}
      style={{ top: `${place * rowHeight}px`, height: `${rowHeight}px` }}
      onClick={() => onChoose(place)}
    >
      {children}
    </div>
  );
}

/** A page of a long list. */
export interface Page<Row> {
  readonly rows: readonly Row[];
  /** Rows of the whole list. */
  readonly matching: number;
}

const pageSize = 100;

/**
 * Fetches the pages of a list that are seen, and keeps them for as long as `key` stays.
 *
 * @param key - what the list depends on: its filters
 * @param load - fetches rows from a place on
 */
export function usePages<Row, Head extends Page<Row>>(
  key: string,
  load: (place: { readonly offset: number; readonly limit: number }, signal: AbortSignal) => Promise<Head>,
) {
  const [state, setState] = useState<{
    key: string;
    head?: Head;
    error?: Error;
    pages: Map<number, readonly Row[]>;
  }>({ key: "", pages: new Map() });
  const asked = useRef({ key: "", pages: new Set<number>(), stop: new AbortController() });
  const latest = useRef(load);
  latest.current = load;
  const fetchPage = useCallback((page: number) => {
    const { key: own, pages, stop } = asked.current;
    if (pages.has(page)) return;
    pages.add(page);
    latest.current({ offset: page * pageSize, limit: pageSize }, stop.signal).then(
      (head) => {
        if (stop.signal.aborted) return;
        setState((old) => ({
          key: own,
          head,
          pages: new Map([...(old.key === own ? old.pages : []), [page, head.rows]]),
        }));
      },
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
  const rowAt = (place: number): Row | undefined =>
    state.pages.get(Math.floor(place / pageSize))?.[place % pageSize];
  const placeOf = (isWanted: (row: Row) => boolean): number | undefined => {
    for (const [page, rows] of state.pages) {
      const at = rows.findIndex(isWanted);
      if (at >= 0) return page * pageSize + at;
    }
    return undefined;
  };
  return { head: state.head, error: state.error, rowAt, placeOf, onWindow };
}

/** What the choice of a row needs of its list. */
interface ChoiceOptions<Row> {
  readonly list: Pick<ReturnType<typeof usePages<Row, Page<Row>>>, "rowAt" | "placeOf">;
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

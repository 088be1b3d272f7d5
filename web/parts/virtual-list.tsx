/** A list of any length of which only what is seen is drawn and fetched. */
import type { ComponentChildren, JSX } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { scrollTo, windowOf } from "../base/virtual-window.ts";

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

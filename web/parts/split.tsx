/** A long list with the chosen row beside it; on a phone the one or the other. */
import type { ComponentChildren, JSX } from "preact";
import { showCount } from "../base/numbers.ts";
import { Empty } from "./controls.tsx";
import { Icon } from "./icons.tsx";
import type { Page, Pages } from "./pages.ts";
import { VirtualList } from "./virtual-list.tsx";

interface SplitProps {
  readonly list: ComponentChildren;
  /** What is chosen; undefined while nothing is. */
  readonly detail: ComponentChildren | undefined;
  /** What is said in its place: `Choose a question`. */
  readonly whenNone: string;
  readonly hint?: string;
}

/** Both sides. */
export function Split({ list, detail, whenNone, hint }: SplitProps): JSX.Element {
  return (
    <div class={detail === undefined ? "split" : "split has-detail"}>
      <div class="list-side">{list}</div>
      <div class="detail-side">
        {detail ?? <Empty title={whenNone}>{hint === undefined ? null : <p>{hint}</p>}</Empty>}
      </div>
    </div>
  );
}

interface RowsProps<Row> {
  /** For screen readers. */
  readonly label: string;
  readonly rowHeight: number;
  readonly list: Pages<Row, Page<Row>>;
  readonly draw: (row: Row) => ComponentChildren;
  readonly chosen: number | undefined;
  readonly onChoose: (place: number) => void;
}

/** The rows of a list that is fetched page by page. */
export function Rows<Row>({ list, ...props }: RowsProps<Row>): JSX.Element {
  const { head, rowAt, onWindow } = list;
  return (
    <VirtualList
      class="trajectory-rows"
      count={head?.matching ?? 0}
      rowAt={rowAt}
      onWindow={onWindow}
      {...props}
    />
  );
}

/** How many rows pass the filters, of how many. */
export function RowCount({
  head,
}: {
  readonly head: { readonly matching: number; readonly total: number } | undefined;
}): JSX.Element {
  return (
    <div class="list-counts num" role="status">
      {head === undefined ? "Reading…" : `${showCount(head.matching)} of ${showCount(head.total)}`}
    </div>
  );
}

interface DetailHeadProps {
  readonly title: string;
  /** Leads back to the list on a phone. */
  readonly onClose: () => void;
  readonly beside?: ComponentChildren;
  readonly children: ComponentChildren;
}

/** What is chosen, above what is told of it. */
export function DetailHead({ title, onClose, beside, children }: DetailHeadProps): JSX.Element {
  return (
    <header class="outcome">
      <div class="outcome-top">
        <button
          type="button"
          class="button plain icon only-phone"
          aria-label="Back to the list"
          onClick={onClose}
        >
          <Icon name="back" />
        </button>
        <h2>{title}</h2>
        {beside}
      </div>
      {children}
    </header>
  );
}

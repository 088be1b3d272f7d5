/** The list of a run's trajectories, however many. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { TrajectoryPage, TrajectoryRow } from "../../../apps/studio/api.ts";
import { getTrajectories } from "../../api/studio.ts";
import { showCount } from "../../base/numbers.ts";
import { Score } from "../../conversation/score.tsx";
import { Empty, Notice } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useChoice, usePages, VirtualList } from "../../parts/virtual-list.tsx";
import { useQuery } from "../../shell/context.ts";
import { Filters, filtersOf } from "./filters.tsx";

const rowHeight = 52;
/** Between looks at a log that is still being read. */
const readingMs = 1000;

/** @param logged - trajectories in the log by now; more than the list has are offered */
export function TrajectoryBrowser({
  run,
  logged,
}: {
  readonly run: string;
  readonly logged: number | undefined;
}): JSX.Element {
  const [query, change] = useQuery();
  const [turn, setTurn] = useState(0);
  const filters = filtersOf(query);
  const key = JSON.stringify([run, filters, turn]);
  const list = usePages<TrajectoryRow, TrajectoryPage & { readonly rows: readonly TrajectoryRow[] }>(
    key,
    (place, signal) => getTrajectories(run, { ...filters, ...place }, signal),
  );
  const { head } = list;
  const isReading = head !== undefined && head.indexedBytes < head.totalBytes;
  useEffect(() => {
    if (!isReading) return undefined;
    const timer = setTimeout(() => setTurn((count) => count + 1), readingMs);
    return () => clearTimeout(timer);
  }, [isReading, turn]);
  const { chosen, choose } = useChoice({
    list,
    isOpen: ({ row }) => query.row !== undefined && row === Number(query.row),
    open: ({ row }) => change({ row: String(row) }),
    // In the order of the log and without a filter, a row is its place.
    expected: Object.keys(filters).length === 0 && query.row !== undefined ? Number(query.row) : undefined,
  });
  const numNew = head === undefined || logged === undefined ? 0 : logged - head.total;
  return (
    <>
      <Filters ranges={head?.ranges} />
      <Counts {...{ head, isReading, numNew }} onMore={() => setTurn((count) => count + 1)} />
      {list.error ? <Notice kind="bad">{list.error.message}</Notice> : null}
      {head?.matching === 0 && !isReading ? (
        <Empty title="None is so">
          <p>No trajectory passes all filters.</p>
        </Empty>
      ) : (
        <VirtualList
          label="Trajectories"
          class="trajectory-rows"
          count={head?.matching ?? 0}
          rowHeight={rowHeight}
          rowAt={list.rowAt}
          onWindow={list.onWindow}
          draw={(row) => <TrajectoryLine row={row} />}
          chosen={chosen}
          onChoose={choose}
        />
      )}
    </>
  );
}

interface CountsProps {
  readonly head: TrajectoryPage | undefined;
  readonly isReading: boolean;
  readonly numNew: number;
  readonly onMore: () => void;
}

function Counts({ head, isReading, numNew, onMore }: CountsProps): JSX.Element {
  const share = head === undefined ? 0 : Math.floor((100 * head.indexedBytes) / Math.max(1, head.totalBytes));
  return (
    <div class="list-counts" role="status">
      <span class="num">
        {head === undefined
          ? "Reading…"
          : head.matching === head.total
            ? `${showCount(head.total)} trajectories`
            : `${showCount(head.matching)} of ${showCount(head.total)}`}
      </span>
      {isReading ? <span class="num">reading the log, {share} %</span> : null}
      {numNew > 0 && !isReading ? (
        <button type="button" class="button plain" onClick={onMore}>
          Show {showCount(numNew)} new
        </button>
      ) : null}
    </div>
  );
}

function TrajectoryLine({ row }: { readonly row: TrajectoryRow }): JSX.Element {
  return (
    <div class="trajectory-line">
      <span class="cut line-question">{row.question}</span>
      <Score row={row} />
      <span class="cut line-answer muted">{row.answer ?? <i class="faint">no answer</i>}</span>
      <span class="line-facts faint num">
        {row.stop === "answer" ? null : <b class="line-stop">{row.stop}</b>}
        <span class="fact" title="searches">
          <Icon name="search" size={11} />
          {row.searches}
        </span>
        <span title="tokens that the policy wrote">{showCount(row.tokens)} tok</span>
        <span>step {row.step}</span>
      </span>
    </div>
  );
}

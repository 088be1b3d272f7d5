/** The list of a run's trajectories, however many. */
import type { JSX } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import type { TrajectoryPage, TrajectoryRow } from "../../../apps/studio/api.ts";
import { getTrajectories } from "../../api/studio.ts";
import { showCount } from "../../base/numbers.ts";
import { Score } from "../../conversation/score.tsx";
import { Empty, Notice } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useChoice, usePages } from "../../parts/pages.ts";
import { Rows } from "../../parts/split.tsx";
import { useQuery } from "../../shell/context.ts";
import { Filters, filtersOf } from "./filters.tsx";

const rowHeight = 52;
/** Between looks at a log that is still being read. */
const readingMs = 1000;

/** The list, looked at again while its log is still being read. */
function useGrowingList(run: string, filters: ReturnType<typeof filtersOf>) {
  const [turn, setTurn] = useState(0);
  const list = usePages<TrajectoryRow, TrajectoryPage>(
    JSON.stringify([run, filters, turn]),
    (place, signal) => getTrajectories(run, { ...filters, ...place }, signal),
  );
  const { head } = list;
  const isReading = head !== undefined && head.indexedBytes < head.totalBytes;
  const readAgain = useCallback(() => setTurn((count) => count + 1), []);
  useEffect(() => {
    if (!isReading) return undefined;
    const timer = setTimeout(readAgain, readingMs);
    return () => clearTimeout(timer);
  }, [isReading, turn, readAgain]);
  return { list, isReading, readAgain };
}

/** @param logged - trajectories in the log by now; more than the list has are offered */
export function TrajectoryBrowser({
  run,
  logged,
}: {
  readonly run: string;
  readonly logged: number | undefined;
}): JSX.Element {
  const [query, change] = useQuery();
  const filters = filtersOf(query);
  const { list, isReading, readAgain } = useGrowingList(run, filters);
  const { head } = list;
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
      <Counts {...{ head, isReading, numNew }} onMore={readAgain} />
      {list.error ? <Notice kind="bad">{list.error.message}</Notice> : null}
      {head?.matching === 0 && !isReading ? (
        <Empty title="None is so">
          <p>No trajectory passes all filters.</p>
        </Empty>
      ) : (
        <Rows
          label="Trajectories"
          draw={(row) => <TrajectoryLine row={row} />}
          onChoose={choose}
          {...{ rowHeight, list, chosen }}
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

/** Trajectories of a run: a filtered list, and the chosen one beside it. */
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import type { RunSummary } from "../../../apps/studio/api.ts";
import { getRuns } from "../../api/studio.ts";
import { Empty, Notice } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { Split } from "../../parts/split.tsx";
import { go, usePage, useQuery } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { TrajectoryPage } from "./detail.tsx";
import { TrajectoryBrowser } from "./list.tsx";

const refreshMs = 4000;

/** Runs that have trajectories; the first is what opens by itself. */
function openable(runs: readonly RunSummary[], live: string | null): RunSummary[] {
  return runs
    .filter(({ kind, numTrajectories }) => kind === "rl" && numTrajectories !== 0)
    .sort((a, b) => Number(b.id === live) - Number(a.id === live));
}

/** The panel of trajectories. */
export function TrajectoriesPanel(): JSX.Element {
  const { route, studio } = usePage();
  const { value, error } = useResource("runs", getRuns, { everyMs: refreshMs });
  const runs = openable(value?.runs ?? [], studio.liveRun);
  const [run] = route.path;
  const first = runs[0]?.id;
  useEffect(() => {
    if (run === undefined && first !== undefined)
      go({ panel: "trajectories", path: [first], query: route.query }, { replace: true });
  }, [run, first, route.query]);
  return (
    <>
      <Head title="Trajectories" beside={<RunChoice runs={runs} run={run} />} />
      {error ? <Notice kind="bad">{error.message}</Notice> : null}
      {run === undefined ? (
        <NoTrajectories isKnown={value !== undefined} />
      ) : (
        <Browser key={run} run={run} runs={runs} />
      )}
    </>
  );
}

function NoTrajectories({ isKnown }: { readonly isKnown: boolean }): JSX.Element | null {
  if (!isKnown) return null;
  return (
    <Empty title="No trajectories yet">
      <p>A reinforcement learning run writes one for each sample of each question.</p>
      <code>npx seekrl demo --studio</code>
    </Empty>
  );
}

function RunChoice({
  runs,
  run,
}: {
  readonly runs: readonly RunSummary[];
  readonly run: string | undefined;
}): JSX.Element | null {
  if (runs.length === 0) return null;
  const isListed = runs.some(({ id }) => id === run);
  return (
    <select
      aria-label="Run"
      class="select crumb-choice"
      value={run}
      onChange={({ currentTarget }) => go({ panel: "trajectories", path: [currentTarget.value] })}
    >
      {isListed || run === undefined ? null : <option value={run}>{run}</option>}
      {runs.map(({ id, name }) => (
        <option key={id} value={id}>
          {name}
        </option>
      ))}
    </select>
  );
}

function Browser({ run, runs }: { readonly run: string; readonly runs: readonly RunSummary[] }): JSX.Element {
  const [query, change] = useQuery();
  const row = query.row === undefined ? undefined : Number(query.row);
  const logged = runs.find(({ id }) => id === run)?.numTrajectories ?? undefined;
  return (
    <Split
      list={<TrajectoryBrowser run={run} logged={logged} />}
      detail={
        row === undefined ? undefined : (
          <TrajectoryPage run={run} row={row} onClose={() => change({ row: "" })} />
        )
      }
      whenNone="Choose a trajectory"
      hint="Arrow keys move through the list."
    />
  );
}

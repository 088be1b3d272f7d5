/** All runs: what they are, how far, how well. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { RunSummary } from "../../../apps/studio/api.ts";
import { getRuns } from "../../api/studio.ts";
import { showAge, showBytes, showDuration, showNumber, showPercent } from "../../base/numbers.ts";
import { writeRoute } from "../../base/route.ts";
import { Spark } from "../../parts/chart.tsx";
import { Empty, Notice } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useResource } from "../../parts/resource.ts";
import { TickTable } from "../../parts/tick-table.tsx";
import { go } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { mainMetric, StateBadge, StepProgress } from "./run-state.tsx";

/** The address of one run, beside others. */
export const runLink = ([run = "", ...others]: readonly string[]): string =>
  writeRoute({ panel: "runs", path: [run], query: { with: others.join(",") } });

const refreshMs = 3000;

/** The table of runs; those that are ticked can be compared. */
export function RunList(): JSX.Element {
  const { value, error } = useResource("runs", getRuns, { everyMs: refreshMs });
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const runs = value?.runs ?? [];
  const tick = (id: string, isOn: boolean): void =>
    setTicked((old) => (isOn ? [...old, id] : old.filter((each) => each !== id)));
  return (
    <>
      <Head title="Runs">
        <button
          type="button"
          class={ticked.length < 2 ? "button" : "button primary"}
          disabled={ticked.length < 2}
          title={ticked.length < 2 ? "Tick two or more runs" : undefined}
          onClick={() => {
            location.hash = runLink(ticked);
          }}
        >
          Compare{ticked.length > 1 ? ` ${ticked.length}` : ""}
        </button>
      </Head>
      <div class="body">
        {error ? <Notice kind="bad">{error.message}</Notice> : null}
        {value && runs.length === 0 ? <NoRuns /> : null}
        {runs.length > 0 ? (
          <TickTable
            {...{ columns, rows: runs, ticked, tick }}
            open={(id) => go({ panel: "runs", path: [id] })}
            draw={(run) => <Cells run={run} />}
          />
        ) : null}
      </div>
    </>
  );
}

function NoRuns(): JSX.Element {
  return (
    <Empty title="No runs here yet">
      <p>Train something, or name the folder that runs stand in.</p>
      <code>npx seekrl demo --studio</code>
    </Empty>
  );
}

/** Heads of columns, and the classes of their cells; a phone has no room for all of them. */
const columns = [
  ["Run", ""],
  ["State", ""],
  ["Steps", ""],
  ["Reward or loss", ""],
  ["EM", "right only-wide-cell"],
  ["Tokens/s", "right only-wide-cell"],
  ["Memory", "right only-wide-cell"],
  ["Left", "only-wide-cell"],
  ["Changed", "only-wide-cell"],
] as const;

function Cells({ run }: { readonly run: RunSummary }): JSX.Element {
  return (
    <>
      <td class="run-name">
        <a href={runLink([run.id])}>{run.name}</a>
        {run.warning ? (
          <span class="run-warning" title={run.warning}>
            <Icon name="warning" size={14} />
            <span class="sr-only">{run.warning}</span>
          </span>
        ) : null}
      </td>
      <td>
        <StateBadge state={run.state} />
      </td>
      <td>
        <StepProgress run={run} />
      </td>
      <MainMetric run={run} />
      <td class="right num only-wide-cell">{showEvaluated(run)}</td>
      <td class="right num only-wide-cell">
        {showNumber(run.tokensPerSecond === null ? null : Math.round(run.tokensPerSecond))}
      </td>
      <td class="right num only-wide-cell">{showBytes(run.process?.memoryBytes)}</td>
      <td class="num only-wide-cell">
        {run.etaSeconds === null ? "–" : showDuration(run.etaSeconds * 1000)}
      </td>
      <td class="muted only-wide-cell">{showAge(run.changedAt, Date.now())}</td>
    </>
  );
}

/** Exact match of the last evaluation; a run of rewards without one says so. */
export function showEvaluated({ kind, evaluated }: RunSummary): string {
  if (evaluated !== null) return showPercent(evaluated.em);
  return kind === "rl" ? "not evaluated" : "–";
}

/** Its curve so far, and where it is. */
function MainMetric({ run }: { readonly run: RunSummary }): JSX.Element {
  const [name, value] = mainMetric(run.last);
  return (
    <td>
      <div class="spark-cell">
        <Spark values={run.spark} label={`${name} over the run`} />
        <span class="num">{showNumber(value)}</span>
      </div>
    </td>
  );
}

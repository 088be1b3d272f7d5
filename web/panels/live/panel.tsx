/** A run while it trains: the curve of its reward, and answers that change. */
import type { JSX } from "preact";
import type { RunSummary } from "../../../apps/studio/api.ts";
import { getRuns } from "../../api/studio.ts";
import { showBytes, showCount, showDuration, showNumber } from "../../base/numbers.ts";
import { Chart } from "../../parts/chart.tsx";
import { Empty, Notice, Stats } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { usePage } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { useWatched } from "../runs/metrics.ts";
import { runLink, showEvaluated } from "../runs/run-list.tsx";
import { StateBadge } from "../runs/run-state.tsx";
import { Examples } from "./examples.tsx";

/** The run that this process trains, else one that trains, else the latest with answers to show. */
function chosenOf(runs: readonly RunSummary[], own: string | null): RunSummary | undefined {
  return (
    runs.find(({ id }) => id === own) ??
    runs.find(({ state }) => state === "live") ??
    runs.find(({ kind }) => kind === "rl") ??
    runs[0]
  );
}

/** The panel of what is going on. */
export function LivePanel(): JSX.Element {
  const { studio } = usePage();
  const { value, error } = useResource("runs", getRuns, { everyMs: 2000 });
  const run = chosenOf(value?.runs ?? [], studio.liveRun);
  return (
    <>
      <Head title="Live" beside={run ? <StateBadge state={run.state} /> : null}>
        {run ? (
          <a class="button" href={runLink([run.id])}>
            All curves
          </a>
        ) : null}
      </Head>
      <div class="body">
        {error ? <Notice kind="bad">{error.message}</Notice> : null}
        {value && run === undefined ? (
          <Empty title="Nothing trains yet">
            <code>npx seekrl demo --studio</code>
          </Empty>
        ) : null}
        {run ? <LiveRun key={run.id} run={run} /> : null}
      </div>
    </>
  );
}

/** What is shown large: the first of each that the run has. */
const mainCharts = [
  ["reward/total", "reward/mean", "loss"],
  ["em/mean"],
  ["search/rounds", "search/share"],
] as const;

function LiveRun({ run }: { readonly run: RunSummary }): JSX.Element {
  const { theme } = usePage();
  const watched = useWatched([run.id]).get(run.id);
  const now = watched?.summary ?? run;
  const curves = watched?.curves ?? [];
  const shown = mainCharts.flatMap((names) => {
    const curve = names
      .map((name) => curves.find((each) => each.name === name))
      .find((each) => each !== undefined);
    return curve === undefined ? [] : [curve];
  });
  return (
    <div class="live">
      <div class="card live-stats">
        <Stats items={statsOf(now)} />
      </div>
      {now.warning ? <Notice kind="warn">{now.warning}</Notice> : null}
      <div class="live-charts">
        {shown.map((curve) => (
          <Chart
            key={curve.name}
            title={curve.name}
            curves={[{ ...curve, run: run.name, place: 0 }]}
            smoothing={0.6}
            theme={theme}
            height={220}
          />
        ))}
      </div>
      {run.kind === "rl" ? <Examples run={run.id} step={now.step} /> : null}
    </div>
  );
}

function statsOf(run: RunSummary) {
  return [
    ["Run", run.name],
    ["Step", run.steps === null ? showCount(run.step) : `${showCount(run.step)} / ${showCount(run.steps)}`],
    ["Left", run.etaSeconds === null ? "–" : showDuration(run.etaSeconds * 1000)],
    ["Reward", showNumber(run.last["reward/total"] ?? run.last["reward/mean"])],
    ["Exact match", showEvaluated(run)],
    ["Tokens/s", run.tokensPerSecond === null ? "–" : showNumber(Math.round(run.tokensPerSecond))],
    ["Memory", showBytes(run.process?.memoryBytes)],
  ] as const;
}

/** One run, or several compared: state, warnings, curves, options. */
import type { JSX } from "preact";
import type { RunDetail, RunSummary } from "../../../apps/studio/api.ts";
import { getRun, getRuns } from "../../api/studio.ts";
import { seriesColour } from "../../base/colour/series-colour.ts";
import { showBytes, showCount, showDuration, showNumber } from "../../base/numbers.ts";
import { Notice, Select, Stats } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useResource } from "../../parts/resource.ts";
import { usePage, useQuery } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { Views } from "../../shell/views.tsx";
import { ConfigTable } from "./config-table.tsx";
import { RunControl } from "./control.tsx";
import { Curves } from "./curves.tsx";
import { useWatched, type Watched } from "./metrics.ts";
import { OutputText } from "./output.tsx";
import { runLink } from "./run-list.tsx";
import { StateBadge } from "./run-state.tsx";
import { Warnings } from "./warnings.tsx";

/** @param runs - ids; the first is the one that the page is of */
export function RunPage({ runs }: { readonly runs: readonly string[] }): JSX.Element {
  const watched = useWatched(runs);
  const states = runs.map((run) => watched.get(run)?.summary?.state).join(",");
  const load = (signal: AbortSignal): Promise<RunDetail[]> =>
    Promise.all(runs.map((run) => getRun(run, signal)));
  const { value = [], error, reload } = useResource(`${runs.join(",")} ${states}`, load, { everyMs: 10_000 });
  const details = value.filter(({ id }) => runs.includes(id));
  const [detail] = details;
  const summary = watched.get(runs[0] ?? "")?.summary ?? detail;
  const isAlone = runs.length === 1;
  return (
    <>
      <Head
        title={isAlone ? (detail?.name ?? runs[0] ?? "") : `${runs.length} runs`}
        above={{ label: "Runs", href: "#/runs" }}
        beside={isAlone && summary ? <StateBadge state={summary.state} /> : null}
      >
        <CompareWith runs={runs} />
        {/* What a button said is over when the state has changed. */}
        {isAlone && detail ? <RunControl key={detail.state} run={detail} onDone={reload} /> : null}
      </Head>
      {error ? (
        <div class="body">
          <Notice kind="bad">{error.message}</Notice>
        </div>
      ) : null}
      {detail && summary ? <RunBody {...{ details, summary, watched, runs }} /> : null}
    </>
  );
}

interface RunBodyProps {
  readonly details: readonly RunDetail[];
  readonly summary: RunSummary;
  readonly watched: ReadonlyMap<string, Watched>;
  readonly runs: readonly string[];
}

type View = "curves" | "options" | "output";

function RunBody({ details, summary, watched, runs }: RunBodyProps): JSX.Element {
  const [query] = useQuery();
  const view = (query.view ?? "curves") as View;
  const isAlone = runs.length === 1;
  const options = [
    { value: "curves", label: "Curves" },
    { value: "options", label: isAlone ? "Configuration" : "Configuration diff" },
    ...(isAlone ? [{ value: "output", label: "Output" } as const] : []),
  ] as const;
  return (
    <>
      <div class="run-head">
        {isAlone ? <RunStats run={{ ...summary, detail: details[0] }} /> : null}
        {isAlone ? null : <Compared {...{ details, runs }} />}
        {details.map((run) => (
          <Warnings key={run.id} run={run} isNamed={!isAlone} />
        ))}
      </div>
      <Views name="run" options={options} value={view}>
        {view === "curves" ? <Curves {...{ details, watched }} /> : null}
        {view === "options" ? <ConfigTable runs={details} /> : null}
        {view === "output" && details[0] ? <OutputText run={details[0].id} /> : null}
      </Views>
    </>
  );
}

function RunStats({
  run,
}: {
  readonly run: RunSummary & { readonly detail: RunDetail | undefined };
}): JSX.Element {
  const { detail } = run;
  const steps = run.steps === null ? null : <small> / {showCount(run.steps)}</small>;
  const best = detail?.checkpoints.find(({ isBest }) => isBest);
  const trajectories = (
    <a href={`#/trajectories/${encodeURIComponent(run.id)}`}>
      {run.numTrajectories === null ? "Open" : showCount(run.numTrajectories)}
    </a>
  );
  const items = [
    [
      "Step",
      <span key="step">
        {showCount(run.step)}
        {steps}
      </span>,
    ],
    ...(run.state === "live"
      ? [["Left", run.etaSeconds === null ? "–" : showDuration(run.etaSeconds * 1000)] as const]
      : []),
    ["Worked", run.seconds === 0 ? "–" : showDuration(run.seconds * 1000)],
    ["Tokens/s", run.tokensPerSecond === null ? "–" : showNumber(Math.round(run.tokensPerSecond))],
    ...(run.process ? [["Memory", showBytes(run.process.memoryBytes)] as const] : []),
    ...(run.kind === "rl" ? [["Trajectories", trajectories] as const] : []),
    [
      "Checkpoints",
      <span key="c">
        {detail?.checkpoints.length ?? 0}
        {best ? <small> best at {best.step}</small> : null}
      </span>,
    ],
  ] as const;
  return <Stats items={items} />;
}

/** Which runs are compared, in their colours. */
function Compared({
  details,
  runs,
}: {
  readonly details: readonly RunDetail[];
  readonly runs: readonly string[];
}): JSX.Element {
  const { theme } = usePage();
  return (
    <div class="compared">
      {details.map((run) => (
        <span class="badge run-chip" key={run.id}>
          <span class="dot" style={{ color: seriesColour(runs.indexOf(run.id), theme) }} />
          <a href={runLink([run.id])}>{run.name}</a>
          <StateText run={run} />
          <a
            class="chip-close"
            href={runLink(runs.filter((id) => id !== run.id))}
            aria-label={`Leave out ${run.name}`}
          >
            <Icon name="close" size={12} />
          </a>
        </span>
      ))}
    </div>
  );
}

/** A choice of one more run to compare with. */
function CompareWith({ runs }: { readonly runs: readonly string[] }): JSX.Element | null {
  const { value } = useResource("runs", getRuns);
  const others = (value?.runs ?? []).filter(({ id }) => !runs.includes(id));
  if (others.length === 0) return null;
  const choose = (id: string): void => {
    if (id !== "") location.hash = runLink([...runs, id]);
  };
  return (
    <div class="only-wide compare-with">
      <Select
        label="Compare with another run"
        options={[
          { value: "", label: "Compare with…" },
          ...others.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        value=""
        onChange={choose}
      />
    </div>
  );
}

const StateText = ({ run }: { readonly run: RunDetail }): JSX.Element => (
  <span class="faint">
    {run.state}, step {showCount(run.step)}
  </span>
);

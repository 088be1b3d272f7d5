/** Every metric of the runs as a chart, in groups, with one slider for how smooth they are. */
import type { JSX } from "preact";
import { useMemo, useState } from "preact/hooks";
import type { RunDetail } from "../../../apps/studio/api.ts";
import { groupMetrics } from "../../base/curves.ts";
import { Chart, type ChartCurve } from "../../parts/chart.tsx";
import { Empty, SearchField } from "../../parts/controls.tsx";
import { usePage } from "../../shell/context.ts";
import type { Watched } from "./metrics.ts";

interface CurvesProps {
  readonly details: readonly RunDetail[];
  readonly watched: ReadonlyMap<string, Watched>;
}

const smoothingName = "seekrl.smoothing";

function useSmoothing(): [number, (share: number) => void] {
  const [share, setShare] = useState(() => Number(localStorage.getItem(smoothingName) ?? 0.6));
  const keep = (next: number): void => {
    localStorage.setItem(smoothingName, String(next));
    setShare(next);
  };
  return [share, keep];
}

/** The curves of each metric, over all runs. */
function curvesByMetric({ details, watched }: CurvesProps): ReadonlyMap<string, ChartCurve[]> {
  const found = new Map<string, ChartCurve[]>();
  details.forEach(({ id, name }, place) => {
    for (const curve of watched.get(id)?.curves ?? []) {
      const chart = found.get(curve.name) ?? [];
      found.set(curve.name, chart);
      chart.push({ ...curve, run: name, place });
    }
  });
  return found;
}

/** All charts. */
export function Curves({ details, watched }: CurvesProps): JSX.Element {
  const [smoothing, setSmoothing] = useSmoothing();
  const [text, setText] = useState("");
  const charts = useMemo(() => curvesByMetric({ details, watched }), [details, watched]);
  const names = [...charts.keys()].filter((name) => name !== "step" && name.includes(text.toLowerCase()));
  return (
    <>
      <div class="curve-tools">
        <SearchField label="Find a metric" value={text} onInput={setText} />
        <label class="field">
          Smoothing
          <input
            type="range"
            min="0"
            max="0.99"
            step="0.01"
            value={smoothing}
            onInput={({ currentTarget }) => setSmoothing(Number(currentTarget.value))}
          />
          <output class="num">{smoothing.toFixed(2)}</output>
        </label>
      </div>
      {names.length === 0 ? (
        <Empty title={text === "" ? "No metrics yet" : "No metric of that name"} />
      ) : null}
      {groupMetrics(names).map(({ group, names: members }) => (
        <section key={group} class="chart-group" aria-label={group}>
          <h2>{group}</h2>
          <div class="charts">
            {members.map((name) => (
              <MetricChart key={name} {...{ name, details, smoothing, curves: charts.get(name) ?? [] }} />
            ))}
          </div>
        </section>
      ))}
    </>
  );
}

interface MetricChartProps {
  readonly name: string;
  readonly curves: readonly ChartCurve[];
  readonly details: readonly RunDetail[];
  readonly smoothing: number;
}

function MetricChart({ name, curves, details, smoothing }: MetricChartProps): JSX.Element {
  const { theme } = usePage();
  const marks = details
    .flatMap(({ warnings }) => warnings)
    .filter(({ metric }) => metric === name)
    .map(({ fromStep, toStep }) => ({ from: fromStep, to: toStep }));
  return <Chart title={name} {...{ curves, smoothing, theme, marks }} />;
}

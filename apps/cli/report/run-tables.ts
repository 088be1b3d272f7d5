/** Runs as tables for people: one row a run, one row a metric, one row an option. */
import { mainMetrics } from "../../runs/metrics/main-metrics.ts";
import type { MetricSummary } from "../../runs/metrics/metric-summary.ts";
import type { RunStatus } from "../../runs/run-folder.ts";
import { durationText } from "./pace.ts";
import { tableOf } from "./table.ts";

/** A number in few digits; nothing where there is none. */
export function figureText(value: number | null | undefined): string {
  if (value === undefined) return "";
  if (value === null) return "not finite";
  return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(4)));
}

/** A row for each run. */
export function runsTable(runs: readonly { readonly name: string; readonly status: RunStatus }[]): string {
  const rows = runs.map(({ name, status }) => {
    const { kind, state, step, steps, last, evaluated, etaSeconds, changedAt } = status;
    return [
      ...[name, kind, state],
      steps === undefined ? String(step) : `${step}/${steps}`,
      figureText(last["reward/total"] ?? last["reward/mean"]),
      // Of the last evaluation: a step's own questions are others each time, and are sampled.
      evaluated === undefined && kind === "rl" ? "not evaluated" : figureText(evaluated?.em),
      figureText(last.loss),
      etaSeconds === undefined ? "" : durationText(etaSeconds),
      `${durationText((Date.now() - changedAt) / 1000)} ago`,
    ];
  });
  const head = ["run", "kind", "state", "step", "reward", "EM", "loss", "left", "last line"];
  return tableOf([head, ...rows], (column) => column < 3);
}

/** A row for each metric: its ends and bounds. */
export function metricsTable(summaries: readonly MetricSummary[]): string {
  const rows = summaries.map(({ name, first, last, lowest, highest, best }) => [
    name,
    ...[first, last, lowest, highest].map(figureText),
    best === undefined ? "" : `${figureText(best.value)} at ${best.step}`,
  ]);
  return tableOf([["", "first", "last", "lowest", "highest", "best, at step"], ...rows]);
}

/** The main metrics first, in their order, then the others in theirs. */
export function inMainOrder<Named extends { readonly name: string }>(list: readonly Named[]): Named[] {
  const rank = ({ name }: Named): number => {
    const place = mainMetrics.indexOf(name);
    return place < 0 ? mainMetrics.length : place;
  };
  return list.toSorted((a, b) => rank(a) - rank(b));
}

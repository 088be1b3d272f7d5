/** A metric of a run in a few numbers. */
import { betterWay } from "./main-metrics.ts";
import type { MetricsLog } from "./metrics-log.ts";

/** A metric over all steps that have it; null is a number that is not finite. */
export interface MetricSummary {
  readonly name: string;
  readonly first: number | null;
  readonly last: number | null;
  readonly lowest: number | null;
  readonly highest: number | null;
  /** Where one way is better: the best of it, and the first step that has it. */
  readonly best?: { readonly value: number; readonly step: number } | undefined;
}

/**
 * All metrics of a run but the step.
 *
 * @param metrics - as far as they were read
 */
export function summariesOf(metrics: MetricsLog): MetricSummary[] {
  return metrics.names.filter((name) => name !== "step").map((name) => summaryOf(metrics, name));
}

interface Bounds {
  readonly first: number | null;
  readonly last: number | null;
  readonly low: { readonly value: number; readonly row: number } | undefined;
  readonly high: { readonly value: number; readonly row: number } | undefined;
}

function summaryOf(metrics: MetricsLog, name: string): MetricSummary {
  const { first, last, low, high } = boundsOf(metrics, name);
  const way = betterWay(name);
  const best = way === undefined ? undefined : way === "lower" ? low : high;
  const stepOf = (row: number): number => metrics.value("step", row) ?? row + 1;
  return {
    ...{ name, first, last, lowest: low?.value ?? null, highest: high?.value ?? null },
    best: best && { value: best.value, step: stepOf(best.row) },
  };
}

function boundsOf(metrics: MetricsLog, name: string): Bounds {
  let bounds: Bounds = { first: null, last: null, low: undefined, high: undefined };
  let hasBegun = false;
  for (let row = 0; row < metrics.numRows; row += 1) {
    const value = metrics.value(name, row);
    if (value === undefined) continue;
    bounds = { ...bounds, first: hasBegun ? bounds.first : value, last: value };
    hasBegun = true;
    if (value === null) continue;
    if (bounds.low === undefined || value < bounds.low.value) bounds = { ...bounds, low: { value, row } };
    if (bounds.high === undefined || value > bounds.high.value) bounds = { ...bounds, high: { value, row } };
  }
  return bounds;
}

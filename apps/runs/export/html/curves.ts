/** The metrics of a run as columns, and which of them a report shows first. */
import { mainMetrics } from "../../metrics/main-metrics.ts";
import type { ExportedMetrics } from "../exported.ts";
import type { Point } from "./chart.ts";
import { highestOf, lowestOf } from "./scale.ts";

/** A metric over the steps that have it. */
export interface Curve {
  readonly name: string;
  readonly points: readonly Point[];
}

/** A curve in numbers. */
interface CurveSummary {
  readonly first: number;
  readonly last: number;
  readonly lowest: number;
  readonly highest: number;
}

/** All metrics but the step itself, in the order in which they first come. */
export async function curvesOf(rows: AsyncIterable<ExportedMetrics>): Promise<Curve[]> {
  const curves = new Map<string, Point[]>();
  for await (const { step = 0, ...row } of rows) {
    for (const [name, value] of Object.entries(row)) {
      const points = curves.get(name) ?? [];
      points.push({ step, value });
      curves.set(name, points);
    }
  }
  return [...curves].map(([name, points]) => ({ name, points }));
}

/** The curves that are shown first; `reward/mean` only where it is not the whole reward. */
export function mainCurves(curves: readonly Curve[]): Curve[] {
  const found = mainMetrics.flatMap((name) => curves.filter((curve) => curve.name === name));
  const total = found.find(({ name }) => name === "reward/total");
  const isTwin = (curve: Curve): boolean =>
    curve.name === "reward/mean" &&
    total !== undefined &&
    curve.points.every(({ value }, i) => value === total.points[i]?.value);
  return found.filter((curve) => !isTwin(curve));
}

/** The ends of a curve, and its bounds. */
export function summaryOf({ points }: Curve): CurveSummary {
  const values = points.map(({ value }) => value).filter(Number.isFinite);
  const [first, last] = [points[0]?.value ?? Number.NaN, points.at(-1)?.value ?? Number.NaN];
  return { first, last, lowest: lowestOf(values), highest: highestOf(values) };
}

/** A mean as a dot on a line as wide as its interval. */
import type { JSX } from "preact";
import { showNumber, showPercent } from "../../base/numbers.ts";

/** Figures that are shares, and are shown in percent. */
const shares = /^(em|f1|acc|precision|recall|judge|.*(share|recall|precision|rate|accuracy))$/i;

/** A figure as text, by its name: a share in percent, everything else as it is. */
export function showFigure(name: string, value: number | null | undefined): string {
  return shares.test(name) ? showPercent(value) : showNumber(value);
}

/** A difference of figures: shares differ by percentage points. */
export function showDifference(name: string, value: number): string {
  const sign = value > 0 ? "+" : "";
  return shares.test(name)
    ? `${sign}${showPercent(value).replace("%", "pp")}`
    : `${sign}${showNumber(value)}`;
}

interface IntervalProps {
  readonly mean: number;
  readonly interval: readonly [number, number];
  /** What both ends of the line stand for. */
  readonly domain: readonly [number, number];
  /** Marks where nothing differs. */
  readonly zero?: boolean;
}

/** A line of 140 pixels. */
export function Interval({
  mean,
  interval: [low, high],
  domain: [least, most],
  zero = false,
}: IntervalProps): JSX.Element {
  const x = (value: number): number => 4 + (132 * (value - least)) / (most - least || 1);
  return (
    <svg class="interval" width="140" height="16" aria-hidden="true">
      {zero ? <line class="interval-zero" x1={x(0)} x2={x(0)} y1="1" y2="15" /> : null}
      <line class="interval-track" x1="4" x2="136" y1="8" y2="8" />
      <line class="interval-line" x1={x(low)} x2={x(high)} y1="8" y2="8" />
      <circle cx={x(mean)} cy="8" r="3.2" />
    </svg>
  );
}

/** A metric of one or more runs as curves. */
import { Fragment, type JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { seriesColour } from "../base/colour/series-colour.ts";
import type { Theme } from "../base/colour/token-colour.ts";
import { alignCurves, type NamedCurve } from "../base/curves.ts";
import { showCount, showNumber } from "../base/numbers.ts";
import { smooth } from "../base/smoothing.ts";

/** A run's curve in a chart. */
export interface ChartCurve extends NamedCurve {
  readonly run: string;
  /** Place of the run among those compared, which gives its colour. */
  readonly place: number;
}

/** What a chart shows. */
interface ChartProps {
  readonly title: string;
  readonly curves: readonly ChartCurve[];
  /** Weight of the past, from 0 to below 1. */
  readonly smoothing: number;
  readonly theme: Theme;
  readonly height?: number;
  /** Steps at which something is wrong. */
  readonly marks?: readonly { readonly from: number; readonly to: number }[];
}

/** What uPlot draws of a curve, in this order: what was measured, what is drawn strong, the ends of its band. */
const columnsOfCurve = 4;

/** Columns of uPlot: steps, then those of each curve. */
function columnsOf(curves: readonly ChartCurve[], smoothing: number): uPlot.AlignedData {
  const aligned = (pick: (curve: ChartCurve) => ChartCurve["values"]) =>
    alignCurves(curves.map((curve) => ({ steps: curve.steps, values: pick(curve) })));
  const { steps, values } = aligned((curve) => curve.values);
  const highest = aligned(({ max = [] }) => max).values;
  const lowest = aligned(({ min = [] }) => min).values;
  const columns = values.flatMap((each, i) => [
    ...[each, smoothing > 0 ? smooth(each, smoothing) : each],
    ...[highest[i] ?? [], lowest[i] ?? []],
  ]);
  return [steps, ...columns];
}

/** A colour of the page's styles as the canvas needs it. */
function inkOf(element: Element, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}

const faded = (colour: string, share: number): string =>
  colour.replace("rgb(", "rgba(").replace(")", `, ${share})`);

function seriesOf(curves: readonly ChartCurve[], smoothing: number, theme: Theme): uPlot.Series[] {
  return curves.flatMap(({ place, steps, max }) => {
    const stroke = seriesColour(place, theme);
    const points = { show: steps.length < 2, size: 5, fill: stroke };
    const thin = { stroke: faded(stroke, 0.28), width: 1, points: { show: false }, spanGaps: true };
    // A band is often thinner than a pixel, and is then seen by its ends.
    const end = { ...thin, show: max !== undefined };
    return [{ ...thin, show: smoothing > 0 }, { stroke, width: 1.6, points, spanGaps: true }, end, end];
  });
}

/** A long curve is cut down to means of neighbouring steps; the band has their extremes, so that no spike is lost. */
function bandsOf(curves: readonly ChartCurve[], theme: Theme): uPlot.Band[] {
  return curves.flatMap(({ place, max }, i) => {
    const first = columnsOfCurve * i + 1;
    const fill = faded(seriesColour(place, theme), 0.2);
    return max === undefined ? [] : [{ series: [first + 2, first + 3] as uPlot.Band.Bounds, fill }];
  });
}

function axesOf(element: Element): uPlot.Axis[] {
  const stroke = inkOf(element, "--faint");
  const line = { stroke: inkOf(element, "--line"), width: 1 };
  const font = `11px ${getComputedStyle(element).fontFamily}`;
  const common = { stroke, font, ticks: { show: false }, grid: line, gap: 4 };
  return [
    { ...common, grid: { show: false }, size: 22, space: 60, values: (_, steps) => steps.map(showStep) },
    { ...common, size: 46, space: 34, values: (_, values) => values.map(showNumber) },
  ];
}

const showStep = (step: number): string => (Number.isInteger(step) ? showCount(step) : "");

/** A flat curve needs room around it. */
function rangeOf(_: uPlot, least: number | null, most: number | null): [number, number] {
  if (least === null || most === null) return [0, 1];
  const room = most > least ? (most - least) * 0.06 : Math.abs(most) * 0.1 || 0.5;
  return [least - room, most + room];
}

function paintMarks(plot: uPlot, marks: ChartProps["marks"], colour: string): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.fillStyle = colour;
  for (const { from, to } of marks ?? []) {
    const left = plot.valToPos(from, "x", true);
    const width = Math.max(2, plot.valToPos(to, "x", true) - left);
    ctx.fillRect(left, bbox.top, width, bbox.height);
  }
  ctx.restore();
}

/** Cursors of all charts stand at the same step. */
const together = "metrics";

function optionsOf(
  element: HTMLElement,
  props: ChartProps,
  onCursor: (at: number | null) => void,
): uPlot.Options {
  const warn = inkOf(element, "--warn-soft");
  return {
    width: element.clientWidth,
    height: props.height ?? 150,
    padding: [8, 10, 0, 0],
    legend: { show: false },
    cursor: { sync: { key: together }, y: false, points: { size: 6 }, drag: { x: true, y: false } },
    scales: { x: { time: false }, y: { range: rangeOf } },
    axes: axesOf(element),
    series: [{}, ...seriesOf(props.curves, props.smoothing, props.theme)],
    bands: bandsOf(props.curves, props.theme),
    hooks: {
      setCursor: [(plot) => onCursor(plot.cursor.idx ?? null)],
      drawClear: [(plot) => paintMarks(plot, props.marks, warn)],
    },
  };
}

/** Whether an element has been near what is seen of the page. */
function useWasSeen(): { readonly box: { current: HTMLDivElement | null }; readonly wasSeen: boolean } {
  const box = useRef<HTMLDivElement>(null);
  const [wasSeen, setSeen] = useState(false);
  useEffect(() => {
    const watcher = new IntersectionObserver(([entry]) => entry?.isIntersecting && setSeen(true), {
      rootMargin: "200px",
    });
    if (box.current) watcher.observe(box.current);
    return () => watcher.disconnect();
  }, []);
  return { box, wasSeen };
}

/** Draws the plot; a change of data alone does not draw it anew. */
function usePlot(props: ChartProps, columns: uPlot.AlignedData) {
  const { box, wasSeen } = useWasSeen();
  const plot = useRef<uPlot | undefined>(undefined);
  const [at, setAt] = useState<number | null>(null);
  const latest = useRef({ props, columns });
  latest.current = { props, columns };
  const shape = JSON.stringify([
    props.theme,
    props.smoothing > 0,
    props.curves.map(({ place, max }) => [place, max !== undefined]),
    props.marks,
  ]);
  useEffect(() => {
    const element = box.current;
    if (!wasSeen || element === null) return undefined;
    const made = new uPlot(optionsOf(element, latest.current.props, setAt), latest.current.columns, element);
    plot.current = made;
    const watcher = new ResizeObserver(() =>
      made.setSize({ width: element.clientWidth, height: latest.current.props.height ?? 150 }),
    );
    watcher.observe(element);
    return () => {
      watcher.disconnect();
      made.destroy();
      plot.current = undefined;
    };
  }, [wasSeen, shape]);
  useEffect(() => plot.current?.setData(columns), [columns]);
  return { box, plot, at };
}

/** What the chart says in words: the last value of each run. */
function summaryOf({ title, curves }: ChartProps): string {
  const ends = curves.map(({ run, steps, values }) => {
    const last = `${showNumber(values.at(-1))} at step ${steps.at(-1) ?? "–"}`;
    return curves.length > 1 ? `${run}: ${last}` : `${last}, from ${showNumber(values[0])}`;
  });
  return `${title}. ${ends.join("; ")}. Left and right arrows move the cursor.`;
}

/** A chart with its title, and the numbers where its cursor stands, or the last ones. */
export function Chart(props: ChartProps): JSX.Element {
  const { title, curves, smoothing } = props;
  const columns = useMemo(() => columnsOf(curves, smoothing), [curves, smoothing]);
  const { box, plot, at } = usePlot(props, columns);
  const steps = columns[0];
  const place = at ?? steps.length - 1;
  const move = (event: KeyboardEvent): void => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (by === undefined || plot.current === undefined) return;
    event.preventDefault();
    const next = Math.min(steps.length - 1, Math.max(0, place + by * (event.shiftKey ? 10 : 1)));
    plot.current.setCursor({ left: plot.current.valToPos(steps[next] ?? 0, "x"), top: 10 });
  };
  return (
    <figure class="chart card" data-metric={title}>
      <figcaption>
        <span class="chart-title cut" title={title}>
          {title}
        </span>
        <Readings {...{ props, columns, place, isAtCursor: at !== null }} />
      </figcaption>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: arrows move the cursor through the curve */}
      <div class="plot" ref={box} role="img" aria-label={summaryOf(props)} tabIndex={0} onKeyDown={move} />
    </figure>
  );
}

interface ReadingsProps {
  readonly props: ChartProps;
  readonly columns: uPlot.AlignedData;
  readonly place: number;
  readonly isAtCursor: boolean;
}

function Readings({ props, columns, place, isAtCursor }: ReadingsProps): JSX.Element {
  const { curves, theme } = props;
  return (
    <span class="readings num" aria-live={isAtCursor ? "polite" : "off"}>
      {isAtCursor ? <span class="faint">step {showCount(columns[0][place] ?? 0)}</span> : null}
      {curves.map((curve, i) => {
        const [, strong = [], highest = [], lowest = []] = columns.slice(columnsOfCurve * i + 1);
        const value = isAtCursor ? strong[place] : [...strong].findLast((each) => each !== null);
        const ends = isAtCursor && curves.length === 1 ? [lowest[place], highest[place]] : [];
        return (
          <Fragment key={curve.run}>
            <b style={{ color: curves.length > 1 ? seriesColour(curve.place, theme) : undefined }}>
              {showNumber(value)}
            </b>
            {typeof ends[0] === "number" ? (
              <span class="faint">
                {showNumber(ends[0])} to {showNumber(ends[1])}
              </span>
            ) : null}
          </Fragment>
        );
      })}
    </span>
  );
}

/** A small curve without axes. */
export function Spark({
  values,
  label,
}: {
  readonly values: readonly number[];
  readonly label: string;
}): JSX.Element {
  const [width, height] = [84, 22];
  const [least, most] = [Math.min(...values), Math.max(...values)];
  const y = (value: number): number => height - 2 - ((value - least) / (most - least || 1)) * (height - 4);
  const x = (i: number): number => 1 + (i / Math.max(1, values.length - 1)) * (width - 2);
  const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  return (
    <svg class="spark" width={width} height={height} role="img" aria-label={label}>
      {values.length > 1 ? <polyline points={points} /> : null}
    </svg>
  );
}

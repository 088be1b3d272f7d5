/** A run as one page (HTML) that needs nothing else: no script, no request, both themes, to be sent to a colleague. */
import type { ExportedFigure, ExportedRun, ExportedTrajectory } from "../exported.ts";
import { chartHtml } from "./chart.ts";
import { chooseTrajectories } from "./choose.ts";
import { conversationHtml, legendHtml } from "./conversation.ts";
import { type Curve, curvesOf, mainCurves, summaryOf } from "./curves.ts";
import { escaped, shownNumber, tableHtml } from "./markup.ts";
import { reportStyle } from "./style.ts";

/** What a report says beside the run. */
export interface ReportOptions {
  /** Of the program that exports. */
  readonly version: string;
  /** Trajectories shown. @default 8 */
  readonly numTraces?: number | undefined;
}

/** A browser that is told so loads nothing and runs nothing, whatever a trajectory says. */
const policy = "default-src 'none'; style-src 'unsafe-inline'";

/**
 * The page's text.
 *
 * @param run - a training or an evaluation
 * @param options - version, and how many trajectories
 */
export async function htmlReport(
  run: ExportedRun,
  { version, numTraces = 8 }: ReportOptions,
): Promise<string> {
  const curves = await curvesOf(run.metrics());
  const traces = await chooseTrajectories(run.lastTrajectories(), numTraces);
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy}">`,
    `<title>${escaped(run.name)}</title><style>${reportStyle}</style></head><body><main>`,
    headHtml(run, curves),
    figuresHtml(run.figures ?? []),
    curvesHtml(curves),
    tracesHtml(traces, run.kind),
    optionsHtml(run.options),
    `<footer>Written by SeekRL ${escaped(version)}. This page is one file and loads nothing.</footer>`,
    "</main></body></html>\n",
  ].join("\n");
}

function headHtml(run: ExportedRun, curves: readonly Curve[]): string {
  const { name, kind, model, hasEnded, endedAt } = run;
  const state = hasEnded ? "ended" : "under way";
  const about = [
    model === "" ? "" : `model ${escaped(model)}`,
    `${state}, last line of ${dateText(endedAt)}`,
  ];
  const tiles = tilesOf(run, curves).map(
    ([label, value, note]) =>
      `<div><dt>${escaped(label)}</dt><dd>${escaped(value)}${note ? `<small>${escaped(note)}</small>` : ""}</dd></div>`,
  );
  return [
    `<header><p class="kicker">SeekRL · ${kind}</p><h1>${escaped(name)}</h1>`,
    `<p class="about">${about.filter((each) => each !== "").join(" · ")}</p>`,
    tiles.length === 0 ? "" : `<dl class="tiles">${tiles.join("")}</dl>`,
    "</header>",
  ].join("");
}

function dateText(date: Date): string {
  return `${date.toISOString().slice(0, 16).replace("T", " ")} UTC`;
}

type Tile = readonly [label: string, value: string, note?: string];

function tilesOf({ kind, figures = [] }: ExportedRun, curves: readonly Curve[]): Tile[] {
  if (kind === "evaluation") return figures.slice(0, 4).map(figureTile);
  const steps = Math.max(0, ...curves.map(({ points }) => points.at(-1)?.step ?? 0));
  const chosen = mainCurves(curves)
    .slice(0, 3)
    .map((curve): Tile => {
      const { first, last } = summaryOf(curve);
      return [curve.name, shownNumber(last), `from ${shownNumber(first)}`];
    });
  return [["steps", shownNumber(steps)], ...chosen, ...secondsTile(curves)];
}

function figureTile({ name, value, interval }: ExportedFigure): Tile {
  return [name, shownNumber(value), interval && `${interval.map(shownNumber).join(" to ")}`];
}

/** What the steps took together. */
function secondsTile(curves: readonly Curve[]): Tile[] {
  const parts = curves.filter(({ name }) => name === "seconds/rollout" || name === "seconds/train");
  const seconds = parts.flatMap(({ points }) => points).reduce((sum, { value }) => sum + value, 0);
  if (seconds === 0) return [];
  const text = seconds < 120 ? `${shownNumber(seconds)} s` : `${shownNumber(Math.round(seconds / 60))} min`;
  return [["time of the steps", text]];
}

function figuresHtml(figures: readonly ExportedFigure[]): string {
  if (figures.length === 0) return "";
  const rows = figures.map(({ name, value, interval }) => [
    escaped(name),
    shownNumber(value),
    interval === undefined ? "" : `${shownNumber(interval[0])} to ${shownNumber(interval[1])}`,
  ]);
  return `<h2>Results</h2>${tableHtml(["", "mean", "95 % interval"], rows)}`;
}

function curvesHtml(curves: readonly Curve[]): string {
  if (curves.length === 0) return "";
  const main = mainCurves(curves);
  const charts = (main.length > 0 ? main : curves).map(({ name, points }) => chartHtml(name, points));
  const rows = curves.map((curve) => {
    const { first, last, lowest, highest } = summaryOf(curve);
    return [escaped(curve.name), ...[first, last, lowest, highest].map(shownNumber)];
  });
  const table = tableHtml(["", "first", "last", "lowest", "highest"], rows);
  return [
    `<h2>Curves</h2><div class="charts">${charts.join("")}</div>`,
    `<details class="more"><summary>All ${curves.length} metrics</summary>${table}</details>`,
  ].join("");
}

function tracesHtml(traces: readonly ExportedTrajectory[], kind: ExportedRun["kind"]): string {
  if (traces.length === 0) return "";
  const of = kind === "training" ? "the last step" : "all questions";
  const isColoured = traces.some(({ segments }) => segments.some(({ tokens }) => tokens?.() !== undefined));
  return [
    `<h2>Conversations</h2><p class="about">The best and the worst of ${of}.</p>`,
    isColoured ? legendHtml : "",
    ...traces.map(conversationHtml),
  ].join("");
}

function optionsHtml(options: ExportedRun["options"]): string {
  const rows = Object.entries(options).map(([path, value]) => [escaped(path), escaped(optionText(value))]);
  return rows.length === 0 ? "" : `<h2>Options</h2><div class="options">${tableHtml(["", ""], rows)}</div>`;
}

function optionText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

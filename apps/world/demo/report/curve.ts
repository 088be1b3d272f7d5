/** The reward of each step of training: as a line of text, and as a picture. */
import { join } from "node:path";
import { readJsonRows } from "../../../../lib/data/files/jsonl.ts";
import type { QueryMode } from "../../../../lib/text/observation.ts";

/** Exact match on held-out questions, of drawn and of greedy answers. */
export interface DrawnAndGreedy {
  readonly drawn: number;
  readonly greedy: number;
}

/** One training. */
export interface RewardCurve {
  readonly mode: QueryMode;
  /** The mean reward of each step's rollouts, 0 to 1. */
  readonly rewards: readonly number[];
  readonly before: DrawnAndGreedy;
  readonly after: DrawnAndGreedy;
  /** Of the control, for comparison. */
  readonly control: DrawnAndGreedy;
}

/** The rewards in a run's log, steps before a kill included. @throws ERR_IO, ERR_FORMAT */
export async function curveOf(folder: string): Promise<number[]> {
  const rewards: number[] = [];
  for await (const { value } of readJsonRows(join(folder, "metrics.jsonl"))) {
    rewards.push(Number((value as Readonly<Record<string, unknown>>)["reward/mean"] ?? 0));
  }
  return rewards;
}

const bars = "▁▂▃▄▅▆▇█";

/**
 * A curve as one line: a bar for each step, the lowest for 0 and the highest for 1.
 *
 * @example
 * const line = sparkline({ mode: "multi", rewards: [0, 0.5, 1] });
 * assert.equal(line, "multi   reward 0.00 ▁▅█ 1.00");
 */
export function sparkline({ mode, rewards }: Pick<RewardCurve, "mode" | "rewards">): string {
  const sign = (reward: number): string => bars[Math.min(bars.length - 1, Math.floor(reward * bars.length))]!;
  const [first = 0, last = 0] = [rewards[0], rewards.at(-1)];
  return `${mode.padEnd(7)} reward ${first.toFixed(2)} ${rewards.map(sign).join("")} ${last.toFixed(2)}`;
}

const size = { width: 720, height: 360, left: 48, right: 230, top: 28, bottom: 40 };
const colours: Readonly<Record<QueryMode, string>> = { single: "#c2571a", multi: "#1f6fb4" };
const names: Readonly<Record<QueryMode, string>> = { single: "one query a turn", multi: "parallel queries" };

/** The place of a share from 0 to 1. */
const yOf = (share: number): number =>
  size.height - size.bottom - share * (size.height - size.top - size.bottom);

/**
 * Curves as an SVG picture: steps to the right, reward upwards; at both ends what the model earns on held-out questions, and
 * each control as a dashed line.
 *
 * @param curves - one for each training
 * @returns the file's text
 */
export function chartOf(curves: readonly RewardCurve[]): string {
  const { width, height } = size;
  const numSteps = Math.max(2, ...curves.map(({ rewards }) => rewards.length));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    "<title>Exact match of each step's rollouts, and of held-out questions before and after</title>",
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...axes(numSteps),
    ...curves.flatMap((curve, i) => lines(curve, { numSteps, place: i })),
    ...legend(numSteps, curves.length),
    "</svg>\n",
  ].join("\n");
}

/** The start stands at 0. */
const xOf = (step: number, numSteps: number): number =>
  size.left + (step / numSteps) * (size.width - size.left - size.right);

function axes(numSteps: number): string[] {
  const [from, to] = [xOf(0, numSteps), xOf(numSteps, numSteps)];
  const levels = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    `<line x1="${from}" x2="${to}" y1="${yOf(share)}" y2="${yOf(share)}" stroke="#ddd"/>`,
    `<text x="${from - 10}" y="${yOf(share) + 4}" text-anchor="end">${share}</text>`,
  ]);
  const below = size.height - size.bottom + 18;
  return [
    ...levels,
    `<text x="${from}" y="${below}">start</text>`,
    `<text x="${to}" y="${below}" text-anchor="end">step ${numSteps}</text>`,
    `<text x="${from}" y="${size.top - 12}">exact match: mean of each step's rollouts</text>`,
  ];
}

function lines(
  { mode, rewards, before, after, control }: RewardCurve,
  { numSteps, place }: { readonly numSteps: number; readonly place: number },
): string[] {
  const colour = colours[mode];
  const points = rewards.map((reward, i) => `${xOf(i + 1, numSteps).toFixed(1)},${yOf(reward).toFixed(1)}`);
  const [from, to, y] = [xOf(0, numSteps), xOf(numSteps, numSteps), yOf(control.drawn).toFixed(1)];
  // Side by side, so that none hides the other.
  const ends = [before, after].flatMap((ems, i) => {
    const x = (i === 0 ? from : to) + 5 * place;
    return [point(x, ems.drawn, `fill="${colour}"`), point(x, ems.greedy, 'fill="white"', colour)];
  });
  return [
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${points.join(" ")}"/>`,
    `<line x1="${from}" x2="${to}" y1="${y}" y2="${y}" stroke="${colour}" stroke-dasharray="5 4"/>`,
    ...ends,
    label(numSteps, place, names[mode], colour),
  ];
}

const point = (x: number, share: number, fill: string, colour = "none"): string =>
  `<circle cx="${x.toFixed(1)}" cy="${yOf(share).toFixed(1)}" r="4" ${fill} stroke="${colour}" stroke-width="1.5"/>`;

const label = (numSteps: number, row: number, text: string, colour = "black"): string =>
  `<text x="${xOf(numSteps, numSteps) + 22}" y="${size.top + 12 + 18 * row}" fill="${colour}">${text}</text>`;

function legend(numSteps: number, row: number): string[] {
  const texts = [
    ...["● held-out questions, drawn", "○ held-out questions, greedy"],
    ...["- - control (imitation), drawn", "Means over both searches:", "one with gaps, a plain index"],
  ];
  return texts.map((text, i) => label(numSteps, row + i + 0.5, text));
}

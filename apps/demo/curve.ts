/** The reward of each step of training: as a line of text, and as a picture. */
import { join } from "node:path";
import { readJsonRows } from "../../lib/data/files/jsonl.ts";
import type { QueryMode } from "../../lib/text/observation.ts";

/** One training. */
export interface RewardCurve {
  readonly mode: QueryMode;
  /** The mean reward of each step's rollouts, 0 to 1. */
  readonly rewards: readonly number[];
  /** Exact match of the control on held-out questions, for comparison. */
  readonly control: number;
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
 * const line = sparkline({ mode: "multi", rewards: [0, 0.5, 1], control: 0.4 });
 * assert.equal(line, "multi   reward 0.00 ▁▅█ 1.00");
 */
export function sparkline({ mode, rewards }: RewardCurve): string {
  const bar = (reward: number): string => bars[Math.min(bars.length - 1, Math.floor(reward * bars.length))]!;
  const [first = 0, last = 0] = [rewards[0], rewards.at(-1)];
  return `${mode.padEnd(7)} reward ${first.toFixed(2)} ${rewards.map(bar).join("")} ${last.toFixed(2)}`;
}

const size = { width: 640, height: 360, left: 48, right: 150, top: 24, bottom: 40 };
const colours: Readonly<Record<QueryMode, string>> = { single: "#c2571a", multi: "#1f6fb4" };

/** The place of a share from 0 to 1. */
const yOf = (share: number): number =>
  size.height - size.bottom - share * (size.height - size.top - size.bottom);

/**
 * Curves as an SVG picture: steps to the right, reward upwards, each control a dashed line.
 *
 * @param curves - one for each training
 * @returns the file's text
 */
export function chartOf(curves: readonly RewardCurve[]): string {
  const { width, height } = size;
  const numSteps = Math.max(2, ...curves.map(({ rewards }) => rewards.length));
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${width}" height="${height}" fill="white"/>`,
    ...axes(numSteps),
    ...curves.flatMap((curve, i) => lines(curve, { numSteps, place: i })),
    "</svg>\n",
  ].join("\n");
}

const xOf = (step: number, numSteps: number): number =>
  size.left + ((step - 1) / (numSteps - 1)) * (size.width - size.left - size.right);

function axes(numSteps: number): string[] {
  const [from, to] = [xOf(1, numSteps), xOf(numSteps, numSteps)];
  const levels = [0, 0.25, 0.5, 0.75, 1].flatMap((share) => [
    `<line x1="${from}" x2="${to}" y1="${yOf(share)}" y2="${yOf(share)}" stroke="#ddd"/>`,
    `<text x="${from - 8}" y="${yOf(share) + 4}" text-anchor="end">${share}</text>`,
  ]);
  const below = size.height - size.bottom + 18;
  return [
    ...levels,
    `<text x="${from}" y="${below}">step 1</text>`,
    `<text x="${to}" y="${below}" text-anchor="end">step ${numSteps}</text>`,
    `<text x="${from}" y="${size.top - 8}">mean reward (exact match) of a step's rollouts</text>`,
  ];
}

function lines(
  { mode, rewards, control }: RewardCurve,
  { numSteps, place }: { readonly numSteps: number; readonly place: number },
): string[] {
  const points = rewards.map((reward, i) => `${xOf(i + 1, numSteps).toFixed(1)},${yOf(reward).toFixed(1)}`);
  const [from, to, y] = [xOf(1, numSteps), xOf(numSteps, numSteps), yOf(control).toFixed(1)];
  const dashed = `stroke="${colours[mode]}" stroke-dasharray="5 4"`;
  const label = (row: number, text: string): string =>
    `<text x="${to + 8}" y="${size.top + 12 + 16 * (2 * place + row)}" fill="${colours[mode]}">${text}</text>`;
  return [
    `<polyline fill="none" stroke="${colours[mode]}" stroke-width="2" points="${points.join(" ")}"/>`,
    `<line x1="${from}" x2="${to}" y1="${y}" y2="${y}" ${dashed}/>`,
    label(0, `${mode}`),
    label(1, `- - ${mode} control, EM`),
  ];
}

/** Curves of a run as small pictures (SVG) that say in words what they show. */
import { escaped, shownNumber } from "./markup.ts";
import { highestOf, lowestOf, type Scale, scaleOf } from "./scale.ts";

/** A metric at a step. */
export interface Point {
  readonly step: number;
  readonly value: number;
}

const size = { width: 340, height: 150, left: 46, right: 8, top: 8, bottom: 20 };

/** More points than this are drawn as means of neighbours, the raw ones as a band from lowest to highest. */
const maxPoints = 120;

/** Points under the pointer that tell their value. */
const maxHints = 60;

/**
 * A figure of one metric.
 *
 * @param name - of the metric
 * @param points - by step; others than finite ones are left out
 * @returns HTML; empty without a point
 */
export function chartHtml(name: string, points: readonly Point[]): string {
  const shown = points.filter(({ value }) => Number.isFinite(value));
  const last = shown.at(-1);
  if (last === undefined) return "";
  const label = escaped(name);
  return `<figure><figcaption><span>${label}</span><b>${shownNumber(last.value)}</b></figcaption>${svgOf(name, shown)}</figure>`;
}

/** What the picture shows, in words. */
function wordsOf(name: string, points: readonly Point[]): string {
  const values = points.map(({ value }) => value);
  const [first, last] = [points[0]!, points.at(-1)!];
  return [
    `${name}: ${shownNumber(first.value)} at step ${first.step}, ${shownNumber(last.value)} at step ${last.step}`,
    `lowest ${shownNumber(lowestOf(values))}, highest ${shownNumber(highestOf(values))}`,
  ].join("; ");
}

function svgOf(name: string, points: readonly Point[]): string {
  const y = scaleOf(
    points.map(({ value }) => value),
    4,
  );
  const [first, last] = [points[0]!.step, points.at(-1)!.step];
  const place = placing({ from: first, to: last }, y);
  const buckets = bucketsOf(points, maxPoints);
  return [
    `<svg viewBox="0 0 ${size.width} ${size.height}" role="img" aria-label="${escaped(wordsOf(name, points))}">`,
    ...gridLines(y, place),
    ...stepLabels(first, last),
    band(buckets, place),
    line(buckets, place),
    ...hints(bucketsOf(points, maxHints), place),
    "</svg>",
  ].join("");
}

/** From a step and a value to a place in the picture. */
interface Placing {
  readonly x: (step: number) => number;
  readonly y: (value: number) => number;
}

function placing(steps: Pick<Scale, "from" | "to">, values: Scale): Placing {
  const [width, height] = [size.width - size.left - size.right, size.height - size.top - size.bottom];
  const share = (at: number, { from, to }: Pick<Scale, "from" | "to">): number =>
    to === from ? 0.5 : (at - from) / (to - from);
  return {
    x: (step) => rounded(size.left + share(step, steps) * width),
    y: (value) => rounded(size.top + (1 - share(value, values)) * height),
  };
}

const rounded = (value: number): number => Math.round(value * 10) / 10;

function gridLines({ ticks }: Scale, { y }: Placing): string[] {
  return ticks.flatMap((tick) => [
    `<path class="grid" d="M${size.left} ${y(tick)}H${size.width - size.right}"/>`,
    `<text x="${size.left - 6}" y="${y(tick) + 3.5}" text-anchor="end">${shownNumber(tick)}</text>`,
  ]);
}

function stepLabels(first: number, last: number): string[] {
  const y = size.height - 5;
  if (first === last) return [`<text x="${size.left}" y="${y}">step ${first}</text>`];
  return [
    `<text x="${size.left}" y="${y}">step ${first}</text>`,
    `<text x="${size.width - size.right}" y="${y}" text-anchor="end">${last}</text>`,
  ];
}

/** Neighbouring points as one. */
interface Bucket {
  readonly step: number;
  readonly mean: number;
  readonly low: number;
  readonly high: number;
}

function bucketsOf(points: readonly Point[], most: number): Bucket[] {
  const width = Math.ceil(points.length / most);
  const starts = Array.from({ length: Math.ceil(points.length / width) }, (_, i) => i * width);
  return starts.map((start) => {
    const part = points.slice(start, start + width);
    const values = part.map(({ value }) => value);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const step = part[Math.floor(part.length / 2)]!.step;
    return { step, mean, low: lowestOf(values), high: highestOf(values) };
  });
}

function band(buckets: readonly Bucket[], { x, y }: Placing): string {
  if (buckets.every(({ low, high }) => low === high)) return "";
  const above = buckets.map(({ step, high }) => `${x(step)} ${y(high)}`);
  const below = buckets.map(({ step, low }) => `${x(step)} ${y(low)}`).reverse();
  return `<path class="band" d="M${[...above, ...below].join("L")}Z"/>`;
}

function line(buckets: readonly Bucket[], { x, y }: Placing): string {
  const [only, another] = buckets;
  if (only !== undefined && another === undefined) {
    return `<circle class="dot" cx="${x(only.step)}" cy="${y(only.mean)}" r="3"/>`;
  }
  return `<path class="line" d="M${buckets.map(({ step, mean }) => `${x(step)} ${y(mean)}`).join("L")}"/>`;
}

/** What browsers show where the pointer rests. */
function hints(buckets: readonly Bucket[], { x }: Placing): string[] {
  const width = (size.width - size.left - size.right) / buckets.length;
  return buckets.map(({ step, mean }) => {
    const [from, height] = [rounded(x(step) - width / 2), size.height - size.bottom];
    const hint = `step ${step}: ${shownNumber(mean)}`;
    return `<rect x="${from}" width="${rounded(width)}" height="${height}"><title>${hint}</title></rect>`;
  });
}

/** Curves of several runs over one axis of steps. */

/** One run's values of a metric. */
export interface Curve {
  readonly steps: readonly number[];
  readonly values: readonly (number | null)[];
}

/**
 * Lays curves over one axis.
 *
 * @param curves - with ascending steps
 * @returns every step that any of them has, and each curve's values there, null where it has none
 */
export function alignCurves(curves: readonly Curve[]): {
  readonly steps: number[];
  readonly values: (number | null)[][];
} {
  const steps = [...new Set(curves.flatMap((curve) => curve.steps))].sort((a, b) => a - b);
  const rowOf = new Map(steps.map((step, row) => [step, row]));
  const values = curves.map((curve) => {
    const column = new Array<number | null>(steps.length).fill(null);
    curve.steps.forEach((step, i) => {
      column[rowOf.get(step)!] = curve.values[i] ?? null;
    });
    return column;
  });
  return { steps, values };
}

/** A curve with its name, as the server sends it. */
export interface NamedCurve extends Curve {
  readonly name: string;
  readonly min?: readonly (number | null)[];
  readonly max?: readonly (number | null)[];
}

/**
 * Adds rows that were logged since to curves.
 *
 * @param curves - all metrics of a run
 * @param rows - each with its `step`, in order; a metric of its own begins a curve
 * @returns new curves
 */
export function appendRows(
  curves: readonly NamedCurve[],
  rows: readonly Readonly<Record<string, number | null>>[],
): NamedCurve[] {
  const known = new Map(curves.map((curve) => [curve.name, curve]));
  for (const row of rows)
    for (const name of Object.keys(row))
      if (name !== "step" && !known.has(name)) known.set(name, { name, steps: [], values: [] });
  return [...known.values()].map((curve) => {
    const added = rows.filter((row) => curve.name in row && typeof row.step === "number");
    const values = added.map((row) => row[curve.name] ?? null);
    if (added.length === 0) return curve;
    return {
      name: curve.name,
      steps: [...curve.steps, ...added.map(({ step }) => step as number)],
      values: [...curve.values, ...values],
      ...(curve.min && { min: [...curve.min, ...values] }),
      ...(curve.max && { max: [...curve.max, ...values] }),
    };
  });
}

/** Metrics in the order in which they are watched: by group, what says most first. */
const groupOrder = ["reward", "policy", "search", "stop", "turns", "tokens", "loss", "kl", "memory"];

/** Groups of one metric or two that are read together with another group. */
const joined: Readonly<Record<string, string>> = {
  ...{ em: "reward", stop: "turns", logprob_gap: "policy", staleness: "policy", correction: "policy" },
};

/** What stands before the slash of a metric's name, or the group that it is read with. */
export function groupOf(name: string): string {
  const [first = ""] = name.split("/");
  return name.includes("/") ? (joined[first] ?? first) : "other";
}

/** What says most of a run stands first in its group. */
const firstNames = ["reward/total", "em/mean", "reward/mean"];

function rankOf(name: string): number {
  const at = firstNames.indexOf(name);
  return at < 0 ? firstNames.length : at;
}

/** Groups of metrics with their names in order. */
export function groupMetrics(
  names: Iterable<string>,
): { readonly group: string; readonly names: string[] }[] {
  const groups = new Map<string, string[]>();
  for (const name of [...names].sort((a, b) => rankOf(a) - rankOf(b) || (a < b ? -1 : 1)))
    groups.set(groupOf(name), [...(groups.get(groupOf(name)) ?? []), name]);
  const rank = (group: string): number => {
    const at = groupOrder.indexOf(group);
    return at < 0 ? groupOrder.length : at;
  };
  return [...groups]
    .map(([group, members]) => ({ group, names: members }))
    .sort((a, b) => rank(a.group) - rank(b.group) || (a.group < b.group ? -1 : 1));
}

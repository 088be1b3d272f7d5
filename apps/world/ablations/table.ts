/** The table of the ablations, and whether the paper's directions hold, as measured. */
import { signTest } from "../../../lib/evaluate/statistics/sign-test.ts";
import type { QueryMode } from "../../../lib/text/observation.ts";
import type { RunResult } from "./run-variant.ts";
import { published, publishedWithMask, type VariantName, variants } from "./variants.ts";

const modes = ["single", "multi"] as const satisfies readonly QueryMode[];

/** One claim of the paper and what was measured. */
export interface Direction {
  readonly claim: string;
  readonly mode: string;
  /** First less second, one per seed, in the unit of `unit`. */
  readonly differences: readonly number[];
  readonly unit: string;
  /** Of the exact sign test over the questions of all seeds; null where the claim is not about answers. */
  readonly pValue: number | null;
  /** Whether every seed, some or none has the paper's sign. */
  readonly holds: "in every seed" | "in some seeds" | "in no seed";
}

function find(results: readonly RunResult[], variant: VariantName, mode: QueryMode): RunResult[] {
  return results
    .filter((each) => each.variant === variant && each.mode === mode)
    .toSorted((a, b) => a.seed - b.seed);
}

interface Pair {
  readonly first: readonly RunResult[];
  readonly second: readonly RunResult[];
}

function direction(
  { claim, mode, unit }: Pick<Direction, "claim" | "mode" | "unit">,
  { first, second }: Pair,
  measure: (result: RunResult) => number,
): Direction {
  const pairs = first.flatMap((one) => {
    const other = second.find(({ seed }) => seed === one.seed);
    return other ? [[one, other] as const] : [];
  });
  const differences = pairs.map(([one, other]) => measure(one) - measure(other));
  const count = differences.filter((difference) => difference > 0).length;
  const answers = (i: 0 | 1): number[] => pairs.flatMap((pair) => [...pair[i].perQuestion]);
  const holds = count === 0 ? "in no seed" : count === pairs.length ? "in every seed" : "in some seeds";
  const pValue = unit === "EM points" ? signTest(answers(0), answers(1)).pValue : null;
  return { claim, mode, unit, differences, pValue, holds };
}

const points = ({ em }: RunResult): number => 100 * em;

/**
 * The paper's claims against the results; a claim whose runs are missing is left out.
 *
 * @param results - of any variants, modes and seeds
 */
export function directions(results: readonly RunResult[]): Direction[] {
  const parts = modes.flatMap((mode) =>
    variants.slice(1).map(({ name }) => {
      const claim = `${name.replace("without ", "")} helps`;
      const pair = { first: find(results, "whole", mode), second: find(results, name, mode) };
      return direction({ claim, mode, unit: "EM points" }, pair, points);
    }),
  );
  const [single, multi] = modes.map((mode) => find(results, "whole", mode));
  const pair = { first: multi ?? [], second: single ?? [] };
  const swapped = { first: pair.second, second: pair.first };
  const both = (claim: string, unit: string) => ({ claim, mode: "both", unit });
  return [
    ...parts,
    direction(both("parallel queries answer more", "EM points"), pair, points),
    direction(both("parallel queries take fewer rounds", "rounds"), swapped, ({ rounds }) => rounds),
    direction(
      both("parallel queries take less time", "ms a question"),
      swapped,
      ({ secondsPerQuestion }) => 1000 * secondsPerQuestion,
    ),
  ].filter(({ differences }) => differences.length > 0);
}

const mean = (values: readonly number[]): number => values.reduce((sum, one) => sum + one, 0) / values.length;
const row = (...cells: readonly string[]): string => `| ${cells.join(" | ")} |\n`;

/**
 * Both tables as Markdown.
 *
 * @param results - of any variants, modes and seeds
 * @returns the rows by mode and variant, then the directions
 */
export function ablationTables(results: readonly RunResult[]): string {
  const seeds = [...new Set(results.map(({ seed }) => seed))].sort((a, b) => a - b);
  const head = ["queries", "variant", ...seeds.map((seed) => `EM, seed ${seed}`), "EM, mean", "rounds"];
  const columns = [...head, "tokens", "ms a question", "invalid turns", "paper's EM"];
  const rows = modes.flatMap((mode) =>
    variants.flatMap(({ name }) => {
      const runs = find(results, name, mode);
      return runs.length === 0 ? [] : [rowOf(name, mode, { runs, seeds })];
    }),
  );
  const claims = directions(results).map(({ claim, mode, differences, unit, pValue, holds }) => {
    const signed = differences.map(
      (value) => `${value >= 0 ? "+" : "-"}${Math.abs(value).toFixed(unit === "rounds" ? 2 : 1)}`,
    );
    const p = pValue === null ? "" : pValue < 0.001 ? "< 0.001" : pValue.toFixed(3);
    return row(claim, mode, `${signed.join(", ")} ${unit}`, p, holds);
  });
  return [
    row(...columns),
    row(...columns.map(() => "---")),
    ...rows,
    `\nThe paper's EM is of a 7B model on four sets; without the mask it is Search-R1's on seven, against ${publishedWithMask} with it.\n\n`,
    row("the paper's claim", "queries", "measured, by seed", "p", "holds"),
    row("---", "---", "---", "---", "---"),
    ...claims,
  ].join("");
}

function rowOf(
  name: VariantName,
  mode: "single" | "multi",
  { runs, seeds }: { readonly runs: readonly RunResult[]; readonly seeds: readonly number[] },
): string {
  const em = seeds
    .map((seed) => runs.find((run) => run.seed === seed))
    .map((run) => (run ? points(run).toFixed(1) : ""));
  const means = (measure: (run: RunResult) => number, digits: number): string =>
    mean(runs.map(measure)).toFixed(digits);
  return row(
    ...[mode, name, ...em, means(points, 1), means(({ rounds }) => rounds, 2)],
    means(({ generatedTokens }) => generatedTokens, 0),
    means(({ secondsPerQuestion }) => 1000 * secondsPerQuestion, 1),
    means(({ invalidActions }) => invalidActions, 2),
    published[name][mode]?.toFixed(1) ?? "",
  );
}

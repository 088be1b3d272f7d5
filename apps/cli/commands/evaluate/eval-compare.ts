/** `seekrl eval compare`: two runs over the same questions, and whether chance explains their difference. */
import { z } from "zod";
import { type Comparison, compareRuns } from "../../../../lib/evaluate/compare.ts";
import { command } from "../../command.ts";
import { tableOf } from "../../report/table.ts";

const chance = (pValue: number): string => (pValue < 0.0001 ? "< 0.0001" : pValue.toFixed(4));

function comparisonTable({ differences }: Comparison): string {
  const rows = Object.entries(differences).map(
    ([measure, { first, second, difference, interval, pValue }]) => [
      measure,
      ...[first, second, difference, ...interval].map((value) => value.toFixed(4)),
      chance(pValue),
    ],
  );
  return tableOf([["", "first", "second", "difference", "from", "to", "p"], ...rows]);
}

/** The command. */
export const evalCompareCommand = command({
  name: "eval compare",
  summary: "compares two runs question by question: paired bootstrap, McNemar's test",
  options: z.strictObject({
    first: z.string().describe("file that eval --out or score-answers --out wrote"),
    second: z.string().describe("another one over the same questions"),
    resamples: z.int().min(100).default(1000).describe("of the bootstrap"),
    seed: z.int().min(0).default(0).describe("fixes the resamples"),
  }),
  places: ["first", "second"],
  run: async ({ first, second, resamples, seed }, io) => {
    const comparison = await compareRuns(first, second, { resamples, seed });
    const { onlyFirst, onlySecond, pValue } = comparison.mcnemar;
    io.write(`${comparison.questions} questions\n\n${comparisonTable(comparison)}\n`);
    io.write("from, to, p: of the difference, by the paired bootstrap (95 %, two-sided).\n");
    io.write(`right in one run only: ${onlyFirst} in the first, ${onlySecond} in the second; `);
    io.write(`McNemar's exact test: p ${chance(pValue)}\n`);
    io.result(comparison);
  },
});

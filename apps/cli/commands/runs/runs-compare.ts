/** `seekrl runs compare`: the options in which runs differ, and their metrics side by side. */
import { z } from "zod";
import { mainMetrics } from "../../../runs/metrics/main-metrics.ts";
import { type MetricSummary, summariesOf } from "../../../runs/metrics/metric-summary.ts";
import { type ConfigOption, optionsByPath } from "../../../runs/run-config.ts";
import { command, UsageError } from "../../command.ts";
import { openRun } from "../../open/run-reader.ts";
import { figureText, inMainOrder } from "../../report/run-tables.ts";
import { tableOf } from "../../report/table.ts";

/** Where a run was put is no difference. */
const ownOption = "out";

/** The command. */
export const runsCompareCommand = command({
  name: "runs compare",
  summary: "compares runs: options that differ, last and best metrics",
  options: z.strictObject({
    runs: z.array(z.string()).min(2, "expected at least two runs").describe("runs' folders"),
    all: z.boolean().default(false).describe("shows every metric, not only the main ones"),
  }),
  places: ["runs"],
  run: async ({ runs: paths, all }, io) => {
    if (new Set(paths).size < paths.length) throw new UsageError("expected each run once");
    const runs = [];
    for (const path of paths) runs.push(await comparedRun(path));
    const options = differingOptions(runs);
    const names = inMainOrder(runs.flatMap(({ metrics }) => metrics)).map(({ name }) => name);
    const shown = [...new Set(names)].filter((name) => all || mainMetrics.includes(name));
    io.write(options.length === 0 ? "no options differ\n" : optionsTable(paths, options));
    io.write(`\n${metricsTable(runs, shown)}`);
    io.result({ runs, options });
  },
});

/** A run, and what it came to. */
interface ComparedRun {
  readonly run: string;
  readonly step: number;
  readonly options: readonly ConfigOption[];
  readonly metrics: readonly MetricSummary[];
}

async function comparedRun(path: string): Promise<ComparedRun> {
  const run = await openRun(path);
  const { step } = await run.status();
  return { run: path, step, options: optionsByPath(await run.config()), metrics: summariesOf(run.metrics) };
}

/** An option that not all have alike; null where a run has none. */
interface DifferingOption {
  readonly path: string;
  readonly values: readonly (string | null)[];
}

function differingOptions(runs: readonly ComparedRun[]): DifferingOption[] {
  const maps = runs.map(({ options }) => new Map(options.map(({ path, value }) => [path, value])));
  const paths = [...new Set(maps.flatMap((map) => [...map.keys()]))].sort();
  return paths
    .map((path) => ({ path, values: maps.map((map) => map.get(path) ?? null) }))
    .filter(({ path, values }) => path !== ownOption && values.some((value) => value !== values[0]));
}

function optionsTable(runs: readonly string[], options: readonly DifferingOption[]): string {
  const rows = options.map(({ path, values }) => [path, ...values.map((value) => value ?? "-")]);
  return tableOf([["", ...runs], ...rows], () => true);
}

/** For each run its last value and, where one way is better, its best. */
function metricsTable(runs: readonly ComparedRun[], names: readonly string[]): string {
  const head = ["", ...runs.flatMap(({ run }) => [run, "best"])];
  const steps = ["step", ...runs.flatMap(({ step }) => [String(step), ""])];
  const rows = names.map((name) => [
    name,
    ...runs.flatMap(({ metrics }) => {
      const metric = metrics.find((each) => each.name === name);
      return [figureText(metric?.last), metric?.best === undefined ? "" : figureText(metric.best.value)];
    }),
  ]);
  return tableOf([head, steps, ...rows]);
}

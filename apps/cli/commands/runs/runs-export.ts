/** `seekrl runs export`: a run or an evaluation in the form of another program, or as a page to send. */
import { join } from "node:path";
import { z } from "zod";
import { writeFileAtomic } from "../../../../lib/base/files/files.ts";
import { packageVersion } from "../../../../lib/base/package-root.ts";
import type { ExportedRun } from "../../../runs/export/exported.ts";
import { command, UsageError } from "../../command.ts";
import { readRun } from "../../open/run-reader.ts";

/** Writes a run to a path; returns the files. */
type Exporter = (run: ExportedRun, out: string, numTraces: number) => Promise<string[]>;

const exporters = {
  csv: writeCsv,
  inspect: async (run, out) => {
    const { inspectLog } = await import("../../../runs/export/inspect.ts");
    await writeFileAtomic(out, inspectLog(run, { version: packageVersion() }));
    return [out];
  },
  trackio: async (run, out) => {
    const { writeTrackio } = await import("../../../runs/export/trackio.ts");
    await writeTrackio(out, run);
    return [out];
  },
  html: async (run, out, numTraces) => {
    const { htmlReport } = await import("../../../runs/export/html/report.ts");
    await writeFileAtomic(out, await htmlReport(run, { version: packageVersion(), numTraces }));
    return [out];
  },
} as const satisfies Record<string, Exporter>;

const formats = Object.keys(exporters) as (keyof typeof exporters)[];

/** The command. */
export const runsExportCommand = command({
  name: "runs export",
  summary: "writes a run for another program: CSV, Inspect, Trackio, or a page to send (HTML)",
  options: z.strictObject({
    run: z.string().describe("a run's folder, or a file of eval --out"),
    format: z
      .enum(formats)
      .describe(
        "csv: metrics.csv and trajectories.csv; inspect: a log of Inspect AI; trackio: a database of Trackio; html: a page",
      ),
    out: z.string().describe("file to write; of csv a folder"),
    traces: z.int().min(0).optional().describe("of html: trajectories shown, the best and the worst (8)"),
  }),
  places: ["run"],
  run: async ({ run: path, format, out, traces }, io) => {
    if (traces !== undefined && format !== "html") throw new UsageError("--traces: expected only with html");
    const run = await readRun(path, { hasTokens: format === "html" });
    const files = await exporters[format](run, out, traces ?? 8);
    for (const file of files) io.write(`${file}\n`);
    io.result({ run: path, format, files });
  },
});

async function writeCsv(run: ExportedRun, out: string): Promise<string[]> {
  const { metricsCsv, trajectoriesCsv } = await import("../../../runs/export/csv.ts");
  const tables = { metrics: metricsCsv(run), trajectories: trajectoriesCsv(run) };
  // An evaluation has no steps.
  const kept = Object.entries(tables).filter(([name]) => name !== "metrics" || run.kind === "training");
  const files: string[] = [];
  for (const [name, lines] of kept) {
    const file = join(out, `${name}.csv`);
    await writeFileAtomic(file, lines);
    files.push(file);
  }
  return files;
}

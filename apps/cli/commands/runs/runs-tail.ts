/** `seekrl runs tail`: a line for each step of a run while they are written, until it ends. */
import { setTimeout as wait } from "node:timers/promises";
import { z } from "zod";
import type { RlMetrics } from "../../../../lib/train/rl-options.ts";
import type { SftMetrics } from "../../../../lib/train/sft.ts";
import type { MetricsLog, MetricsRow } from "../../../runs/metrics/metrics-log.ts";
import type { RunFolder, RunStatus } from "../../../runs/run-folder.ts";
import { type CommandIo, command } from "../../command.ts";
import { openRun } from "../../open/run-reader.ts";
import { figureText } from "../../report/run-tables.ts";
import { sftStepLine, stepLine } from "../../report/training-report.ts";

/** Between two looks at the log; a step takes longer, and a network disk is not asked too often. */
const lookEveryMs = 300;

/** The command. */
export const runsTailCommand = command({
  name: "runs tail",
  summary: "shows a run's last steps, and those to come until it ends or Ctrl-C",
  options: z.strictObject({
    run: z.string().describe("a run's folder"),
    lines: z.int().min(0).default(10).describe("steps shown of those that are done"),
  }),
  places: ["run"],
  isService: true,
  run: async ({ run: path, lines }, io) => {
    const run = await openRun(path);
    const rows: MetricsRow[] = [];
    const state = await follow(run, { lines, io, onRow: (row) => rows.push(row) });
    if (!io.signal.aborted) io.write(`${stateText(state)}\n`);
    io.result({ folder: path, state, rows });
  },
});

interface Following {
  readonly lines: number;
  readonly io: CommandIo;
  readonly onRow: (row: MetricsRow) => void;
}

/** @returns what the run was doing when it was last looked at */
async function follow(run: RunFolder, { lines, io, onRow }: Following): Promise<RunStatus["state"]> {
  let status = await run.status();
  let { revision } = run.metrics;
  let next = Math.max(0, run.metrics.numRows - lines);
  for (;;) {
    for (; next < run.metrics.numRows; next += 1) {
      const row = run.metrics.row(next);
      onRow(row);
      io.write(`${lineOf(row, status)}\n`);
    }
    if (status.state !== "live" || io.signal.aborted) return status.state;
    await wait(lookEveryMs, undefined, { signal: io.signal }).catch(() => undefined);
    status = await run.status();
    if (run.metrics.revision === revision) continue;
    revision = run.metrics.revision;
    next = rowsGone(run.metrics, io);
  }
}

/** A run that was stopped and goes on from its checkpoint has its log cut back to it. */
function rowsGone(metrics: MetricsLog, io: CommandIo): number {
  const { numRows } = metrics;
  io.log(`the run went back to its checkpoint of step ${metrics.value("step", numRows - 1) ?? 0}`);
  return numRows;
}

function lineOf(row: MetricsRow, { kind, steps = 0, step, etaSeconds }: RunStatus): string {
  const numbers = Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? Number.NaN]));
  // Only of the newest step is known how long those after it take.
  const left = numbers.step === step ? etaSeconds : undefined;
  const of = Math.max(steps, step);
  if (kind === "rl" && "reward/total" in row) return stepLine(numbers as RlMetrics, of, left);
  if (isOfSft(numbers)) return sftStepLine(numbers, of, left);
  return Object.entries(row)
    .map(([name, value]) => `${name} ${figureText(value)}`)
    .join("  ");
}

/** Loops of one's own log what they like. */
function isOfSft(numbers: Readonly<Record<string, number>>): numbers is Record<string, number> & SftMetrics {
  return ["step", "loss", "grad_norm", "tokens", "seconds/train"].every((name) => name in numbers);
}

function stateText(state: RunStatus["state"]): string {
  if (state === "stopped") return "stopped: steps are left; the same training command goes on";
  return state === "finished" ? "finished" : "ended";
}

/** `seekrl runs show`: one run or evaluation: where it stands, its metrics, its options. */
import { z } from "zod";
import { summariesOf } from "../../../runs/metrics/metric-summary.ts";
import { optionsByPath } from "../../../runs/run-config.ts";
import type { RunStatus } from "../../../runs/run-folder.ts";
import { type CommandIo, command } from "../../command.ts";
import { isFile, openRun, readRun } from "../../open/run-reader.ts";
import { durationText } from "../../report/pace.ts";
import { figureText, inMainOrder, metricsTable } from "../../report/run-tables.ts";
import { tableOf } from "../../report/table.ts";

/** The command. */
export const runsShowCommand = command({
  name: "runs show",
  summary: "shows where a run stands, its metrics and its options",
  options: z.strictObject({
    run: z.string().describe("a run's folder, or a file of eval --out"),
  }),
  places: ["run"],
  run: async ({ run: path }, io) => {
    await ((await isFile(path)) ? showEvaluation(path, io) : showRun(path, io));
  },
});

async function showRun(path: string, io: CommandIo): Promise<void> {
  const run = await openRun(path);
  const status = await run.status();
  await run.trajectories.refresh();
  const checkpoints = await run.checkpoints();
  const metrics = inMainOrder(summariesOf(run.metrics));
  const options = optionsByPath(await run.config());
  const trajectories = run.trajectories.numRows;
  io.write(`${stateLines(path, status)}checkpoints  ${checkpointsText(checkpoints)}\n`);
  if (trajectories > 0) io.write(`trajectories ${trajectories}\n`);
  io.write(`\n${metricsTable(metrics)}`);
  if (options.length > 0)
    io.write(
      `\n${tableOf(
        options.map(({ path: at, value }) => [at, value]),
        () => true,
      )}`,
    );
  const values = options.map(({ path: at, value }) => [at, JSON.parse(value) as unknown]);
  io.result({ ...status, checkpoints, trajectories, metrics, options: Object.fromEntries(values) });
}

function stateLines(
  path: string,
  { kind, state, step, steps, seconds, etaSeconds, holder }: RunStatus,
): string {
  const by = holder === undefined ? "" : `, by process ${holder.pid} on ${holder.host} since ${holder.since}`;
  const left = etaSeconds === undefined ? "" : `, ${durationText(etaSeconds)} left`;
  return [
    `run          ${path} (${kind})`,
    `state        ${state}${by}`,
    `step         ${step}${steps === undefined ? "" : ` of ${steps}`}, ${durationText(seconds)} of steps${left}`,
    "",
  ].join("\n");
}

function checkpointsText(
  checkpoints: readonly { readonly step: number; readonly isBest: boolean }[],
): string {
  if (checkpoints.length === 0) return "none";
  return checkpoints.map(({ step, isBest }) => `step ${step}${isBest ? " (best)" : ""}`).join(", ");
}

async function showEvaluation(path: string, io: CommandIo): Promise<void> {
  const { figures = [], trajectories } = await readRun(path);
  let questions = 0;
  for await (const _ of trajectories()) questions += 1;
  const rows = figures.map(({ name, value, interval }) => [
    name,
    ...[value, ...(interval ?? [])].map(figureText),
  ]);
  io.write(`results      ${path}\nquestions    ${questions}\n\n`);
  io.write(tableOf([["", "mean", "from", "to"], ...rows.map((row) => [...row, "", ""].slice(0, 4))]));
  io.result({ path, kind: "evaluation", questions, figures });
}

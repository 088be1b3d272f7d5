/** The paths of runs: the list, one of them, its curves, two configurations, events while it goes on. */
import { z } from "zod";
import { seriesOf } from "../../runs/metrics/metric-series.ts";
import { configDifferences, optionsByPath } from "../../runs/run-config.ts";
import type { Call } from "../../serve/http/call.ts";
import type { Route } from "../../serve/http/http-server.ts";
import type { ConfigDiff, MetricsPage, RunDetail, RunList } from "../api.ts";
import { commandOf, type RunControl } from "../runs/control.ts";
import type { Known, Library } from "../runs/library.ts";
import { runEvents } from "../runs/run-events.ts";
import type { WatchedRun } from "../runs/watched-run.ts";
import { getRoute, numberText, postRoute, queryOf, wholeText } from "./studio-route.ts";

const metricsQuery = z.strictObject({
  names: z.string().optional(),
  from: numberText.optional(),
  to: numberText.optional(),
  points: wholeText.pipe(z.int().min(2).max(10_000)).default(1000),
});
const pairQuery = z.strictObject({ first: z.string(), second: z.string() });
const afterQuery = z.strictObject({ after: wholeText.default(0) });
const noBody = z.strictObject({});

/** What the paths of runs need. */
interface RunParts {
  readonly library: Library;
  readonly control: RunControl;
}

/** The run of a request's path. @throws Refusal 404 */
export function runOf(library: Library, { params }: Call): Promise<Known<WatchedRun>> {
  return library.run(params.run ?? "");
}

/** All paths that begin with `/runs`, but those of trajectories; and `/diff`. */
export function runRoutes({ library, control }: RunParts): Route[] {
  return [
    getRoute("/runs", () => listOf(library)),
    getRoute("/runs/:run", async (call) => detailOf(await runOf(library, call), control)),
    getRoute("/runs/:run/metrics", async (call) => metricsOf(await runOf(library, call), call)),
    getRoute("/runs/:run/events", async (call) => {
      const { after } = queryOf(call, afterQuery);
      const run = await runOf(library, call);
      return runEvents(run, call, after);
    }),
    getRoute("/runs/:run/output", async (call) => {
      const { after } = queryOf(call, afterQuery);
      return control.output((await runOf(library, call)).opened.folder.folder, after);
    }),
    postRoute("/runs/:run/stop", noBody, async (_, call) =>
      control.stop((await runOf(library, call)).opened),
    ),
    postRoute("/runs/:run/resume", noBody, async (_, call) =>
      control.resume((await runOf(library, call)).opened),
    ),
    getRoute("/diff", (call) => diffOf(library, queryOf(call, pairQuery))),
  ];
}

async function listOf(library: Library): Promise<RunList> {
  const runs = await Promise.all((await library.runs()).map((run) => run.opened.summary(run)));
  const isLive = (state: string): number => Number(state === "live");
  return {
    runs: runs.sort((a, b) => isLive(b.state) - isLive(a.state) || b.changedAt - a.changedAt),
  };
}

async function detailOf(run: Known<WatchedRun>, control: RunControl): Promise<RunDetail> {
  const { folder } = run.opened;
  const summary = await run.opened.summary(run);
  const config = await folder.config();
  return {
    ...summary,
    config: config ?? null,
    options: optionsByPath(config),
    metrics: folder.metrics.names,
    warnings: await run.opened.warnings(),
    checkpoints: await folder.checkpoints(),
    command: commandOf(config, folder.folder)?.text ?? null,
    whyNotStop: (await control.whyNotStop(run.opened)) ?? null,
    whyNotResume: (await control.whyNotResume(run.opened)) ?? null,
  };
}

async function metricsOf({ opened }: Known<WatchedRun>, call: Call): Promise<MetricsPage> {
  const { names, ...options } = queryOf(call, metricsQuery);
  const { metrics } = opened.folder;
  await metrics.refresh();
  const all = metrics.names.filter((name) => name !== "step");
  const wanted = names === undefined ? all : names.split(",").filter((name) => all.includes(name));
  const series = wanted.map((name) => seriesOf(metrics, name, options));
  return { revision: metrics.revision, next: metrics.numRows, series };
}

async function diffOf(library: Library, { first, second }: z.output<typeof pairQuery>): Promise<ConfigDiff> {
  const options = async (id: string) => optionsByPath(await (await library.run(id)).opened.folder.config());
  return { first, second, ...configDifferences(await options(first), await options(second)) };
}

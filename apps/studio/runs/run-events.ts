/** A run while it goes on, as server-sent events: its state, its metrics, how many trajectories there are. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Call } from "../../serve/http/call.ts";
import type { EventStream } from "../../serve/http/event-stream.ts";
import type { RunEvent, RunSummary } from "../api.ts";
import type { Known } from "./library.ts";
import { readOn } from "./read-on.ts";
import type { WatchedRun } from "./watched-run.ts";

/** Between two looks at the logs. */
const lookEveryMs = 1000;
/** A live run is told of at least this often: its memory and its time left change. */
const tellEveryMs = 5000;
/** Rows of one event: a client that begins with an old run must not get all of it at once. */
const rowsAtOnce = 500;

/** What a client was told so far. */
interface Told {
  revision: number;
  next: number;
  trajectories: string;
  run: string;
  runAt: number;
}

/**
 * Sends the events of a run until the client leaves.
 *
 * @param run - which
 * @param call - of the client
 * @param after - metrics that it has
 */
export async function runEvents(run: Known<WatchedRun>, call: Call, after: number): Promise<void> {
  const { metrics } = run.opened.folder;
  await metrics.refresh();
  const told: Told = {
    ...{ revision: metrics.revision, next: Math.min(after, metrics.numRows) },
    ...{ trajectories: "", run: "", runAt: Number.NEGATIVE_INFINITY },
  };
  const stream = call.openStream();
  try {
    while (!call.signal.aborted) {
      for await (const event of newsOf(run, told)) await send(stream, event);
      await sleep(lookEveryMs, undefined, { signal: call.signal });
    }
  } catch (error) {
    // Its leaving is how a client ends this.
    if (!call.signal.aborted) throw error;
  } finally {
    stream.end();
  }
}

function send(stream: EventStream, event: RunEvent): Promise<void> {
  return stream.send({ event: event.type, data: event });
}

async function* newsOf(run: Known<WatchedRun>, told: Told): AsyncGenerator<RunEvent> {
  const { metrics, trajectories } = run.opened.folder;
  const summary = await run.opened.summary(run);
  if (metrics.revision !== told.revision) {
    told.revision = metrics.revision;
    told.next = 0;
    yield { type: "reset", revision: metrics.revision };
  }
  if (isNews(summary, told)) yield { type: "run", run: summary };
  const { revision } = metrics;
  while (told.next < metrics.numRows && metrics.revision === revision) {
    const next = Math.min(told.next + rowsAtOnce, metrics.numRows);
    const rows = Array.from({ length: next - told.next }, (_, i) => metrics.row(told.next + i));
    told.next = next;
    yield { type: "metrics", revision, next, rows };
  }
  await readOn(trajectories);
  const state = `${trajectories.revision} ${trajectories.numRows}`;
  if (state === told.trajectories) return;
  told.trajectories = state;
  yield { type: "trajectories", revision: trajectories.revision, total: trajectories.numRows };
}

/** Whether anything but the clock has changed, or enough time has passed. */
function isNews({ spark: _, process, etaSeconds: __, ...summary }: RunSummary, told: Told): boolean {
  const state = JSON.stringify([summary, process?.pid]);
  const now = performance.now();
  const isDue = summary.state === "live" && now - told.runAt >= tellEveryMs;
  if (state === told.run && !isDue) return false;
  told.run = state;
  told.runAt = now;
  return true;
}

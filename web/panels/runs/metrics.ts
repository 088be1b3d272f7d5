/** The curves of runs, which grow while their runs are live. */
import { useCallback, useEffect, useState } from "preact/hooks";
import type { RunEvent, RunSummary } from "../../../apps/studio/api.ts";
import { getMetrics, runEvents } from "../../api/studio.ts";
import { appendRows, type NamedCurve } from "../../base/curves.ts";

/** What is known of a run while it is watched. */
export interface Watched {
  readonly curves: readonly NamedCurve[];
  /** The latest state; undefined before the first event. */
  readonly summary?: RunSummary;
  /** Trajectories in its log, once an event said so. */
  readonly numTrajectories?: number;
  /** Where its events go on. */
  readonly next: number;
}

const points = 1000;
/** Before the events of a stream that broke off are asked for again. */
const retryMs = 3000;

type Change = (run: string, change: (old: Watched) => Watched) => void;

/** Takes a run's events until the signal fires; after a break it begins again with what is there. */
async function follow(run: string, change: Change, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      const { series, next } = await getMetrics(run, { points }, signal);
      change(run, (old) => ({ ...old, curves: series, next }));
      for await (const event of runEvents(run, next, signal)) {
        if (event.type === "reset") break;
        change(run, (old) => afterEvent(old, event));
      }
    } catch {
      // The list of runs says when the server is gone; here it is asked again.
    }
    await new Promise((resolve) => setTimeout(resolve, signal.aborted ? 0 : retryMs));
  }
}

function afterEvent(old: Watched, event: RunEvent): Watched {
  switch (event.type) {
    case "run":
      return { ...old, summary: event.run };
    case "metrics":
      return event.next <= old.next
        ? old
        : { ...old, curves: appendRows(old.curves, event.rows), next: event.next };
    case "trajectories":
      return { ...old, numTrajectories: event.total };
    case "reset":
      return old;
  }
}

const nothing: Watched = { curves: [], next: 0 };

/**
 * Watches runs: their curves, and what changes in them.
 *
 * @param runs - their ids
 * @returns what is known of each, by id
 */
export function useWatched(runs: readonly string[]): ReadonlyMap<string, Watched> {
  const [watched, setWatched] = useState<ReadonlyMap<string, Watched>>(new Map());
  const change = useCallback<Change>((run, apply) => {
    setWatched((old) => new Map([...old, [run, apply(old.get(run) ?? nothing)]]));
  }, []);
  const key = runs.join(",");
  useEffect(() => {
    const stop = new AbortController();
    for (const run of key.split(",").filter((each) => each !== "")) void follow(run, change, stop.signal);
    return () => stop.abort();
  }, [key, change]);
  return watched;
}

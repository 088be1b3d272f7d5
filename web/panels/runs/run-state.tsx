/** A run's state in a word, a bar and a few numbers. */
import type { JSX } from "preact";
import type { RunState, RunSummary } from "../../../apps/studio/api.ts";
import { showCount } from "../../base/numbers.ts";

const kinds: Readonly<Record<RunState, string>> = {
  live: "good",
  finished: "accent",
  stopped: "warn",
  ended: "",
};

/** What state a run is in. */
export function StateBadge({ state }: { readonly state: RunState }): JSX.Element {
  return (
    <span class={`badge ${kinds[state]}`}>
      <span class={state === "live" ? "dot pulse" : "dot"} />
      {state}
    </span>
  );
}

/** Steps that are done, of all where that is known. */
export function StepProgress({
  run: { step, steps },
}: {
  readonly run: Pick<RunSummary, "step" | "steps">;
}): JSX.Element {
  if (steps === null) return <span class="num">{showCount(step)}</span>;
  return (
    <div class="steps">
      <span class="num">
        {showCount(step)} <span class="faint">/ {showCount(steps)}</span>
      </span>
      <div
        class="progress"
        role="progressbar"
        aria-label="Steps"
        aria-valuenow={step}
        aria-valuemin={0}
        aria-valuemax={steps}
      >
        <i style={{ width: `${Math.min(100, (100 * step) / Math.max(1, steps))}%` }} />
      </div>
    </div>
  );
}

/** The main number of a run: what its sparkline shows. */
export function mainMetric(last: RunSummary["last"]): readonly [name: string, value: number | undefined] {
  const name =
    ["reward/total", "reward/mean", "loss", "loss/mean"].find((each) => each in last) ?? "reward/total";
  return [name, last[name]];
}

/** What the metrics of a run warn of: collapses, as the guard of a training sees them, and steps that teach nothing. */

import { CollapseGuard } from "../../../lib/train/collapse.ts";
import type { Settings } from "../../../lib/train/run/settings.ts";
import type { MetricsLog } from "../../runs/metrics/metrics-log.ts";
import type { RunWarning } from "../api.ts";

/** Ways to answer that never search. */
const withoutSearch = new Set(["direct", "cot", "given"]);

/** A step that shows something. */
type Finding = Omit<RunWarning, "fromStep" | "toStep">;

type Row = Readonly<Record<string, number>>;

const hints: readonly (readonly [metric: string, holds: (value: number) => boolean, message: string])[] = [
  [
    "groups/equal",
    (share) => share === 1,
    "all rollouts of each question earned the same: nothing was learnt; remedy: more samples, easier or harder questions, a higher temperature",
  ],
  ["reward/failed", (count) => count > 0, "rewards failed; their trajectories were left out"],
  ["search/failures", (count) => count > 0, "searches failed"],
  [
    "search/share",
    (share) => share === 0,
    "no rollout searched; remedy: format learning first (seekrl sft), or a reward for searching",
  ],
];

/** Goes through the metrics of a run as they come. */
export class RunWarnings {
  readonly #metrics: MetricsLog;
  #revision = 0;
  #numRows = 0;
  #guard = new CollapseGuard();
  #found: RunWarning[] = [];

  /** @param metrics - of the run; who asks for warnings has read them */
  constructor(metrics: MetricsLog) {
    this.#metrics = metrics;
  }

  /** All warnings so far, in the order in which they began. */
  all(config: Settings | undefined): readonly RunWarning[] {
    const { revision, numRows } = this.#metrics;
    if (revision !== this.#revision) {
      this.#revision = revision;
      this.#numRows = 0;
      this.#guard = new CollapseGuard();
      this.#found = [];
    }
    const isSearching = !withoutSearch.has(String(config?.baseline));
    for (; this.#numRows < numRows; this.#numRows += 1) this.#look(this.#numRows, isSearching);
    return this.#found;
  }

  #look(row: number, isSearching: boolean): void {
    const numbers: Row = this.#metrics.numbers(row);
    const { step = row + 1 } = numbers;
    if (step === 0) return;
    const collapse = this.#guard.add(numbers);
    const findings: Finding[] = hintsOf(numbers, isSearching);
    if (collapse !== undefined) {
      findings.unshift({ kind: "collapse", metric: collapse.metric, message: collapse.message });
    }
    for (const finding of findings) this.#add(finding, step);
  }

  /** A warning that held at the step before goes on. */
  #add(finding: Finding, step: number): void {
    const place = this.#found.findIndex(
      ({ kind, metric, toStep }) =>
        kind === finding.kind && metric === finding.metric && (toStep === step - 1 || toStep === step),
    );
    const fromStep = this.#found[place]?.fromStep ?? step;
    const warning = { ...finding, fromStep, toStep: step };
    if (place < 0) this.#found.push(warning);
    else this.#found[place] = warning;
  }
}

function hintsOf(row: Row, isSearching: boolean): Finding[] {
  return hints.flatMap(([metric, holds, message]) => {
    const value = row[metric];
    if (value === undefined || !holds(value) || (metric === "search/share" && !isSearching)) return [];
    return [{ kind: "hint" as const, metric, message }];
  });
}

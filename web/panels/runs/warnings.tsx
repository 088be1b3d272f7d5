/** What somebody should read of a run: collapses, and what teaches nothing. */
import type { JSX } from "preact";
import type { RunDetail, RunWarning } from "../../../apps/studio/api.ts";
import { Notice } from "../../parts/controls.tsx";

/** A sentence once, with all steps at which it held. */
function bySentence(warnings: readonly RunWarning[]): RunWarning[][] {
  const found = new Map<string, RunWarning[]>();
  for (const warning of warnings)
    found.set(warning.message, [...(found.get(warning.message) ?? []), warning]);
  return [...found.values()];
}

const maxSpans = 6;

/** `step 34`, `steps 3 to 9, 12`. */
function stepsOf(warnings: readonly RunWarning[]): string {
  const spans = warnings.map(({ fromStep, toStep }) =>
    fromStep === toStep ? String(fromStep) : `${fromStep} to ${toStep}`,
  );
  const more = spans.length > maxSpans ? `, and ${spans.length - maxSpans} more` : "";
  const isOne = spans.length === 1 && warnings[0]?.fromStep === warnings[0]?.toStep;
  return `${isOne ? "step" : "steps"} ${spans.slice(0, maxSpans).join(", ")}${more}`;
}

/** @param isNamed - whether the run is named, where there are several */
export function Warnings({
  run,
  isNamed,
}: {
  readonly run: RunDetail;
  readonly isNamed: boolean;
}): JSX.Element {
  return (
    <>
      {bySentence(run.warnings).map((warnings) => (
        <Notice key={warnings[0]?.message} kind={warnings[0]?.kind === "collapse" ? "bad" : "warn"}>
          {isNamed ? <b>{run.name}: </b> : null}
          {warnings[0]?.message} <span class="num">({stepsOf(warnings)})</span>
        </Notice>
      ))}
    </>
  );
}

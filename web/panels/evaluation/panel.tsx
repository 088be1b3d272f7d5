/** Evaluations: the list, one of them, or two side by side. */
import type { JSX } from "preact";
import { usePage } from "../../shell/context.ts";
import { ComparisonView } from "./comparison.tsx";
import { EvaluationPage } from "./evaluation-page.tsx";
import { EvaluationTable } from "./evaluation-table.tsx";

/** The panel of evaluations. */
export function EvaluationPanel(): JSX.Element {
  const { route } = usePage();
  const [first] = route.path;
  const second = route.query.with;
  if (first === undefined) return <EvaluationTable />;
  if (second === undefined) return <EvaluationPage key={first} evaluation={first} />;
  return <ComparisonView key={`${first} ${second}`} first={first} second={second} />;
}

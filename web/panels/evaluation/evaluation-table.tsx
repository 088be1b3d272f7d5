/** All files of results. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { EvaluationSummary } from "../../../apps/studio/api.ts";
import { getEvaluations } from "../../api/studio.ts";
import { showAge, showCount, showPercent } from "../../base/numbers.ts";
import { writeRoute } from "../../base/route.ts";
import { Empty, Notice } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { TickTable } from "../../parts/tick-table.tsx";
import { go } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";

/** The address of an evaluation, beside another. */
export const evaluationLink = (first: string, second = ""): string =>
  writeRoute({ panel: "evaluation", path: [first], query: { with: second } });

/** The table; two that are ticked can be compared. */
export function EvaluationTable(): JSX.Element {
  const { value, error } = useResource("evaluations", getEvaluations, { everyMs: 10_000 });
  const [ticked, setTicked] = useState<readonly string[]>([]);
  const evaluations = value?.evaluations ?? [];
  const tick = (id: string, isOn: boolean): void =>
    setTicked((old) => (isOn ? [...old, id].slice(-2) : old.filter((each) => each !== id)));
  const compare = (): void => {
    // The older one first: the difference is what the newer one has more.
    const [second = "", first = ""] = evaluations.map(({ id }) => id).filter((id) => ticked.includes(id));
    location.hash = evaluationLink(first, second);
  };
  return (
    <>
      <Head title="Evaluation">
        <button
          type="button"
          class={ticked.length === 2 ? "button primary" : "button"}
          disabled={ticked.length !== 2}
          title={ticked.length === 2 ? undefined : "Tick two of them"}
          onClick={compare}
        >
          Compare
        </button>
      </Head>
      <div class="body">
        {error ? <Notice kind="bad">{error.message}</Notice> : null}
        {value && evaluations.length === 0 ? <NoResults /> : null}
        {evaluations.length > 0 ? (
          <TickTable
            {...{ columns, rows: evaluations, ticked, tick }}
            open={(id) => go({ panel: "evaluation", path: [id] })}
            draw={(evaluation) => <Cells evaluation={evaluation} />}
          />
        ) : null}
      </div>
    </>
  );
}

function NoResults(): JSX.Element {
  return (
    <Empty title="No results here yet">
      <p>An evaluation writes one line for each question.</p>
      <code>npx seekrl eval --help</code>
    </Empty>
  );
}

/** Heads of columns, and the classes of their cells. */
const columns = [
  ["Results", ""],
  ["Sets", ""],
  ["Questions", "right"],
  ["EM", "right"],
  ["F1", "right"],
  ["Changed", ""],
] as const;

function Cells({ evaluation }: { readonly evaluation: EvaluationSummary }): JSX.Element {
  const { id, name, path, sets, numQuestions, em, f1, changedAt } = evaluation;
  return (
    <>
      <td class="run-name">
        <a href={evaluationLink(id)} title={path}>
          {name}
        </a>
      </td>
      <td class="muted">{sets.join(", ")}</td>
      <td class="right num">{showCount(numQuestions)}</td>
      <td class="right num">{showPercent(em)}</td>
      <td class="right num">{showPercent(f1)}</td>
      <td class="muted">{showAge(changedAt, Date.now())}</td>
    </>
  );
}

/** One evaluation: figures with intervals, and its questions. */
import type { JSX } from "preact";
import type { EvaluationDetail, Figure } from "../../../apps/studio/api.ts";
import { getEvaluation, getEvaluations } from "../../api/studio.ts";
import { showCount } from "../../base/numbers.ts";
import { Notice, Select } from "../../parts/controls.tsx";
import { useResource } from "../../parts/resource.ts";
import { useQuery } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { Views } from "../../shell/views.tsx";
import { evaluationLink } from "./evaluation-table.tsx";
import { Interval, showFigure } from "./interval.tsx";
import { Questions } from "./questions.tsx";

const above = { label: "Evaluation", href: "#/evaluation" };

const views = [
  { value: "questions", label: "Questions" },
  { value: "figures", label: "Figures" },
] as const;

/** @param evaluation - its id */
export function EvaluationPage({ evaluation }: { readonly evaluation: string }): JSX.Element {
  const { value, error } = useResource(evaluation, (signal) => getEvaluation(evaluation, signal));
  const [query] = useQuery();
  const view = query.view === "figures" ? "figures" : "questions";
  return (
    <>
      <Head title={value?.name ?? evaluation} above={above}>
        <CompareWith evaluation={evaluation} />
      </Head>
      {error ? <Notice kind="bad">{error.message}</Notice> : null}
      <Views
        name="evaluation"
        options={views}
        value={view}
        kind={view === "questions" ? "body fill" : "body"}
      >
        {value && view === "figures" ? <Figures detail={value} /> : null}
        {value && view === "questions" ? <Questions evaluation={evaluation} sets={value.sets} /> : null}
      </Views>
    </>
  );
}

function CompareWith({ evaluation }: { readonly evaluation: string }): JSX.Element | null {
  const { value } = useResource("evaluations", getEvaluations);
  const others = (value?.evaluations ?? []).filter(({ id }) => id !== evaluation);
  if (others.length === 0) return null;
  return (
    <Select
      label="Compare with other results"
      options={[
        { value: "", label: "Compare with…" },
        ...others.map(({ id, name }) => ({ value: id, label: name })),
      ]}
      value=""
      onChange={(id) => {
        location.hash = evaluationLink(evaluation, id);
      }}
    />
  );
}

function Figures({ detail }: { readonly detail: EvaluationDetail }): JSX.Element {
  const groups = [
    { set: `All ${showCount(detail.numQuestions)} questions`, figures: detail.figures },
    ...(detail.bySet.length > 1 ? detail.bySet : []),
  ];
  return (
    <>
      <p class="muted figures-note">Means with their 95 % intervals.</p>
      <div class="figure-groups">
        {groups.map(({ set, figures }) => (
          <FigureTable key={set} set={set} figures={figures} />
        ))}
      </div>
    </>
  );
}

function FigureTable({
  set,
  figures,
}: {
  readonly set: string;
  readonly figures: readonly Figure[];
}): JSX.Element {
  return (
    <section class="card" aria-label={set}>
      <h3 class="card-title">{set}</h3>
      <table class="table">
        <tbody>
          {figures.map((figure) => (
            <FigureLine key={figure.name} figure={figure} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function FigureLine({ figure: { name, mean, interval } }: { readonly figure: Figure }): JSX.Element {
  const most = Math.max(1, ...(interval ?? []));
  return (
    <tr>
      <td class="muted">{name}</td>
      <td class="right num">{showFigure(name, mean)}</td>
      <td>{mean !== null && interval ? <Interval {...{ mean, interval }} domain={[0, most]} /> : null}</td>
      <td class="faint num interval-ends">
        {interval ? `${showFigure(name, interval[0])} – ${showFigure(name, interval[1])}` : ""}
      </td>
    </tr>
  );
}

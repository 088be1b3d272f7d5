/** Two evaluations of the same questions: how far they are apart, and where. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type {
  ComparisonPage,
  ComparisonQuery,
  EvaluationComparison,
  MeasureDifference,
  QuestionDetail,
  QuestionRow,
} from "../../../apps/studio/api.ts";
import { getComparison, getComparisonQuestions, getQuestion } from "../../api/studio.ts";
import { showNumber } from "../../base/numbers.ts";
import { Conversation } from "../../conversation/conversation.tsx";
import { Notice, SearchField, Segmented } from "../../parts/controls.tsx";
import { usePages } from "../../parts/pages.ts";
import { useResource } from "../../parts/resource.ts";
import { DetailHead, RowCount, Rows, Split } from "../../parts/split.tsx";
import { useQuery, useQueryText } from "../../shell/context.ts";
import { Head } from "../../shell/head.tsx";
import { Interval, showDifference, showFigure } from "./interval.tsx";
import { Rightness } from "./questions.tsx";

interface PairProps {
  readonly first: string;
  readonly second: string;
}

/** The page of a comparison. */
export function ComparisonView(pair: PairProps): JSX.Element {
  const { value, error } = useResource(`${pair.first} ${pair.second}`, (signal) =>
    getComparison(pair, signal),
  );
  const title = value ? `${value.first.name} and ${value.second.name}` : "Comparison";
  return (
    <>
      <Head title={title} above={{ label: "Evaluation", href: "#/evaluation" }} />
      {error ? (
        <div class="body">
          <Notice kind="warn">{error.message}</Notice>
        </div>
      ) : null}
      {value ? (
        <div class="body fill">
          <Differences comparison={value} />
          <SideBySide {...pair} />
        </div>
      ) : null}
    </>
  );
}

function Differences({ comparison }: { readonly comparison: EvaluationComparison }): JSX.Element {
  const { first, second, differences, mcnemar } = comparison;
  const [isAll, setAll] = useState(false);
  const shown = isAll ? differences : differences.slice(0, 2);
  return (
    <section class="differences scroll-x" aria-label="Differences">
      <table class="table">
        <thead>
          <tr>
            <th>Measure</th>
            <th class="right">{first.name}</th>
            <th class="right">{second.name}</th>
            <th class="right">Difference</th>
            <th>95 % interval</th>
            <th class="right">p</th>
          </tr>
        </thead>
        <tbody>
          {shown.map((each) => (
            <DifferenceLine key={each.name} measure={each} />
          ))}
        </tbody>
      </table>
      <p class="muted mcnemar num">
        Only {first.name} is right: {mcnemar.onlyFirst}. Only {second.name}: {mcnemar.onlySecond}. McNemar p ={" "}
        {showNumber(mcnemar.pValue)}.
        {differences.length > 2 ? (
          <button type="button" class="link" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
            {isAll ? "Fewer measures" : `All ${differences.length} measures`}
          </button>
        ) : null}
      </p>
    </section>
  );
}

function DifferenceLine({ measure }: { readonly measure: MeasureDifference }): JSX.Element {
  const { name, first, second, difference, interval, pValue } = measure;
  const most = Math.max(...interval.map(Math.abs), Math.abs(difference)) || 1;
  const isClear = interval[0] > 0 || interval[1] < 0;
  return (
    <tr>
      <td class="muted">{name}</td>
      <td class="right num">{showFigure(name, first)}</td>
      <td class="right num">{showFigure(name, second)}</td>
      <td class={`right num ${isClear ? "strong" : "muted"}`}>{showDifference(name, difference)}</td>
      <td>
        <div class="interval-cell">
          <Interval mean={difference} interval={interval} domain={[-most, most]} zero />
          <span class="faint num">
            {showDifference(name, interval[0])} to {showDifference(name, interval[1])}
          </span>
        </div>
      </td>
      <td class="right num">{showNumber(pValue)}</td>
    </tr>
  );
}

const shows = [
  { value: "all", label: "All" },
  { value: "differ", label: "Differ" },
  { value: "first", label: "Only first right" },
  { value: "second", label: "Only second right" },
] as const;

type Show = (typeof shows)[number]["value"];

interface PairRow {
  readonly first: QuestionRow;
  readonly second: QuestionRow;
}

function SideBySide(pair: PairProps): JSX.Element {
  const [query] = useQuery();
  const show = (query.show ?? "differ") as Show;
  const filters: ComparisonQuery = { show, ...(query.text ? { text: query.text } : {}) };
  const list = usePages<PairRow, ComparisonPage>(JSON.stringify([pair, filters]), (place, signal) =>
    getComparisonQuestions(pair, { ...filters, ...place }, signal),
  );
  const [place, setPlace] = useState<number>();
  const chosen = place === undefined ? undefined : list.rowAt(place);
  return (
    <Split
      list={
        <>
          <PairFilters show={show} />
          <RowCount head={list.head} />
          <Rows
            label="Questions"
            rowHeight={58}
            draw={(row) => <PairLine row={row} />}
            chosen={place}
            onChoose={setPlace}
            list={list}
          />
        </>
      }
      detail={chosen && <PairDetail pair={pair} row={chosen} onClose={() => setPlace(undefined)} />}
      whenNone="Choose a question"
    />
  );
}

function PairFilters({ show }: { readonly show: Show }): JSX.Element {
  const [, change] = useQuery();
  const [text, setText] = useQueryText();
  return (
    <div class="filters">
      <SearchField label="Find in questions" value={text} onInput={setText} />
      <Segmented
        label="Which questions"
        options={shows}
        value={show}
        onChange={(next) => change({ show: next })}
      />
    </div>
  );
}

function PairLine({ row: { first, second } }: { readonly row: PairRow }): JSX.Element {
  return (
    <div class="pair-line">
      <span class="cut">{first.question}</span>
      {[first, second].map((each, i) => (
        <span key={i} class={`cut pair-answer ${each.em === 1 ? "good" : "bad"}`}>
          <span class="dot" /> {each.answer ?? "no answer"}
        </span>
      ))}
    </div>
  );
}

interface PairDetailProps {
  readonly pair: PairProps;
  readonly row: PairRow;
  readonly onClose: () => void;
}

function PairDetail({ pair, row, onClose }: PairDetailProps): JSX.Element {
  const key = `${pair.first} ${row.first.row} ${pair.second} ${row.second.row}`;
  const load = (signal: AbortSignal): Promise<[QuestionDetail, QuestionDetail]> =>
    Promise.all([
      getQuestion(pair.first, row.first.row, signal),
      getQuestion(pair.second, row.second.row, signal),
    ]);
  const { value, error } = useResource(key, load);
  return (
    <>
      <DetailHead title={row.first.question} onClose={onClose}>
        <p class="muted">expected {row.first.answers.join(" or ")}</p>
      </DetailHead>
      {error ? <Notice kind="bad">{error.message}</Notice> : null}
      <div class="samples">
        {(value ?? []).map((each, i) => (
          <article key={i} class="sample" aria-label={i === 0 ? "First" : "Second"}>
            <header>
              <div class="sample-top">
                <Rightness em={each.em} />
                <span class="cut">{each.answer ?? <i class="faint">no answer</i>}</span>
              </div>
            </header>
            <Conversation segments={each.segments.filter(({ kind }) => kind !== "prompt")} />
          </article>
        ))}
      </div>
    </>
  );
}

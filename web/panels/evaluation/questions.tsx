/** The questions of an evaluation, and the chosen one beside them. */
import type { JSX } from "preact";
import type { QuestionDetail, QuestionPage, QuestionQuery, QuestionRow } from "../../../apps/studio/api.ts";
import { getQuestion, getQuestions } from "../../api/studio.ts";
import { showDuration, showNumber } from "../../base/numbers.ts";
import { Conversation } from "../../conversation/conversation.tsx";
import { Searches } from "../../conversation/searches.tsx";
import { Facts, Notice, SearchField, Segmented, Select } from "../../parts/controls.tsx";
import { Icon } from "../../parts/icons.tsx";
import { useChoice, usePages } from "../../parts/pages.ts";
import { useResource } from "../../parts/resource.ts";
import { DetailHead, RowCount, Rows, Split } from "../../parts/split.tsx";
import { useQuery, useQueryText } from "../../shell/context.ts";

const rightness = [
  { value: "", label: "All" },
  { value: "1", label: "Right" },
  { value: "0", label: "Wrong" },
] as const;

const rowHeight = 52;

/** @param sets - names of the evaluation's sets */
export function Questions({
  evaluation,
  sets,
}: {
  readonly evaluation: string;
  readonly sets: readonly string[];
}): JSX.Element {
  const [query, change] = useQuery();
  const row = query.row === undefined ? undefined : Number(query.row);
  return (
    <Split
      list={<QuestionList evaluation={evaluation} sets={sets} />}
      detail={
        row === undefined ? undefined : (
          <QuestionView evaluation={evaluation} row={row} onClose={() => change({ row: "" })} />
        )
      }
      whenNone="Choose a question"
    />
  );
}

function filtersOf(query: Readonly<Record<string, string>>): QuestionQuery {
  const kept = (["set", "em", "text"] as const).filter((key) => (query[key] ?? "") !== "");
  return Object.fromEntries(kept.map((key) => [key, query[key]]));
}

function QuestionList({
  evaluation,
  sets,
}: {
  readonly evaluation: string;
  readonly sets: readonly string[];
}): JSX.Element {
  const [query, change] = useQuery();
  const filters = filtersOf(query);
  const list = usePages<QuestionRow, QuestionPage>(JSON.stringify([evaluation, filters]), (place, signal) =>
    getQuestions(evaluation, { ...filters, ...place }, signal),
  );
  const { chosen, choose } = useChoice({
    list,
    isOpen: ({ row }) => query.row !== undefined && row === Number(query.row),
    open: ({ row }) => change({ row: String(row) }),
  });
  return (
    <>
      <QuestionFilters sets={sets} />
      {list.error ? <Notice kind="bad">{list.error.message}</Notice> : null}
      <RowCount head={list.head} />
      <Rows
        label="Questions"
        draw={(each) => <QuestionLine row={each} />}
        onChoose={choose}
        {...{ rowHeight, list, chosen }}
      />
    </>
  );
}

function QuestionFilters({ sets }: { readonly sets: readonly string[] }): JSX.Element {
  const [query, change] = useQuery();
  const [text, setText] = useQueryText();
  const setOptions = [{ value: "", label: "All sets" }, ...sets.map((set) => ({ value: set, label: set }))];
  return (
    <div class="filters">
      <div class="filter-line">
        <SearchField label="Find in questions" value={text} onInput={setText} />
        <Segmented
          label="Exact match"
          options={rightness}
          value={(query.em ?? "") as "" | "0" | "1"}
          onChange={(em) => change({ em })}
        />
        {sets.length > 1 ? (
          <Select
            label="Set"
            options={setOptions}
            value={query.set ?? ""}
            onChange={(set) => change({ set })}
          />
        ) : null}
      </div>
    </div>
  );
}

/** Whether an answer is right, in a word of one colour. */
export function Rightness({ em }: { readonly em: number }): JSX.Element {
  return (
    <span class={`score ${em === 1 ? "good" : "bad"}`}>
      <span class="dot" />
      {em === 1 ? "right" : "wrong"}
    </span>
  );
}

function QuestionLine({ row }: { readonly row: QuestionRow }): JSX.Element {
  return (
    <div class="trajectory-line">
      <span class="cut">{row.question}</span>
      <Rightness em={row.em} />
      <span class="cut line-answer muted">{row.answer ?? <i class="faint">no answer</i>}</span>
      <span class="line-facts faint num">
        {row.stop === "answer" ? null : <b class="line-stop">{row.stop}</b>}
        <span>F1 {showNumber(row.f1)}</span>
        <span class="fact" title="searches">
          <Icon name="search" size={11} />
          {row.searches}
        </span>
      </span>
    </div>
  );
}

interface QuestionViewProps {
  readonly evaluation: string;
  readonly row: number;
  readonly onClose: () => void;
}

function QuestionView({ evaluation, row, onClose }: QuestionViewProps): JSX.Element {
  const { value, error } = useResource(`${evaluation} ${row}`, (signal) =>
    getQuestion(evaluation, row, signal),
  );
  if (error) return <Notice kind="bad">{error.message}</Notice>;
  if (value === undefined) return <p class="detail-wait muted">Reading…</p>;
  return (
    <>
      <QuestionHead detail={value} onClose={onClose} />
      <div class="detail-body">
        <Conversation key={value.row} segments={value.segments} />
        {value.searchRounds.length > 0 ? (
          <Searches rounds={value.searchRounds} failures={value.failures} />
        ) : null}
      </div>
    </>
  );
}

function QuestionHead({
  detail,
  onClose,
}: {
  readonly detail: QuestionDetail;
  readonly onClose: () => void;
}): JSX.Element {
  const facts = [
    ["F1", showNumber(detail.f1)],
    ["Searches", detail.searches],
    ["Tokens", detail.generatedTokens],
    ["Took", showDuration(detail.seconds * 1000)],
    ["Stop", detail.stop],
    ...(detail.retrievalRecall === null
      ? []
      : [["Retrieval recall", showNumber(detail.retrievalRecall)] as const]),
    ...(detail.judge === null ? [] : [["Judge", showNumber(detail.judge)] as const]),
  ] as const;
  return (
    <DetailHead title={detail.question} onClose={onClose}>
      <p class="outcome-answers">
        <Rightness em={detail.em} />
        <span>{detail.answer ?? <i class="faint">no answer</i>}</span>
        <span class="muted">expected {detail.answers.join(" or ")}</span>
      </p>
      <Facts items={facts} />
      {detail.judgeReason ? <p class="muted">{detail.judgeReason}</p> : null}
    </DetailHead>
  );
}

/** The paths of evaluations: the list, one of them question by question, two side by side. */
import { z } from "zod";
import type { QuestionResult } from "../../../lib/evaluate/question-result.ts";
import type { EvaluationFile, ResultHead } from "../../runs/evaluations/evaluation-file.ts";
import { fileFigures, meanIn } from "../../runs/evaluations/figures.ts";
import type { Call } from "../../serve/http/call.ts";
import type { Route } from "../../serve/http/http-server.ts";
import type {
  ComparisonPage,
  EvaluationComparison,
  EvaluationDetail,
  EvaluationList,
  EvaluationSummary,
  QuestionDetail,
  QuestionPage,
  QuestionRow,
} from "../api.ts";
import type { Known, Library } from "../runs/library.ts";
import { readOn } from "../runs/read-on.ts";
import { searchRounds } from "../runs/trajectory-view.ts";
import { comparisonOf, pairsOf, type RowPair } from "./comparison.ts";
import { emText, getRoute, pageQuery, queryOf } from "./studio-route.ts";

const questionQuery = z.strictObject({
  set: z.string().optional(),
  em: emText.optional(),
  text: z.string().max(1000).optional(),
  stop: z.string().optional(),
  sort: z.enum(["row", "em", "f1", "searches", "tokens", "seconds"]).default("row"),
  order: z.enum(["asc", "desc"]).default("asc"),
  ...pageQuery,
});
const pair = { first: z.string(), second: z.string() };
const pairQuery = z.strictObject(pair);
const comparisonQuery = z.strictObject({
  ...pair,
  show: z.enum(["all", "differ", "first", "second"]).default("all"),
  text: z.string().max(1000).optional(),
  ...pageQuery,
});

/** What a list of questions is sorted by, as it stands in the file. */
const sortNumbers = {
  em: "em",
  f1: "f1",
  searches: "rounds",
  tokens: "generatedTokens",
  seconds: "seconds",
} as const;

/** All paths of evaluations. */
export function evaluationRoutes(library: Library): Route[] {
  const opened = async (id = ""): Promise<Known<EvaluationFile>> => {
    const known = await library.evaluation(id);
    await known.opened.refresh();
    return known;
  };
  const named = ({ params }: Call) => opened(params.evaluation);
  return [
    getRoute("/evaluations", () => listOf(library)),
    getRoute("/evaluations/:evaluation", async (call) => detailOf(await named(call))),
    getRoute("/evaluations/:evaluation/questions", async (call) =>
      questionsOf((await named(call)).opened, queryOf(call, questionQuery)),
    ),
    getRoute("/evaluations/:evaluation/questions/:row", async (call) =>
      questionOf((await named(call)).opened, Number(call.params.row)),
    ),
    getRoute("/comparison", async (call) => {
      const { first, second } = queryOf(call, pairQuery);
      return comparison(await opened(first), await opened(second));
    }),
    getRoute("/comparison/questions", async (call) => {
      const { first, second, ...query } = queryOf(call, comparisonQuery);
      return pairPage((await opened(first)).opened, (await opened(second)).opened, query);
    }),
  ];
}

async function summaryOf({ id, name, opened: file }: Known<EvaluationFile>): Promise<EvaluationSummary> {
  return {
    ...{ id, name, path: file.path, numQuestions: file.numRows, sets: [...file.sets.texts] },
    ...{ em: meanIn(file, "em"), f1: meanIn(file, "f1"), changedAt: await file.changedAt() },
  };
}

async function listOf(library: Library): Promise<EvaluationList> {
  const all = await library.evaluations();
  // Long files are counted as far as they were read.
  await Promise.all(all.map(({ opened }) => readOn(opened)));
  const evaluations = await Promise.all(all.map(summaryOf));
  return { evaluations: evaluations.sort((a, b) => b.changedAt - a.changedAt) };
}

async function detailOf(known: Known<EvaluationFile>): Promise<EvaluationDetail> {
  return { ...(await summaryOf(known)), ...fileFigures(known.opened) };
}

async function questionsOf(
  file: EvaluationFile,
  { set, em, text, stop, sort, order, offset, limit }: z.output<typeof questionQuery>,
): Promise<QuestionPage> {
  const holdsText = textTest(file, text);
  const rows = Array.from({ length: file.numRows }, (_, row) => row).filter(
    (row) =>
      (set === undefined || file.sets.texts[file.place("set", row)] === set) &&
      (em === undefined || file.number("em", row) === em) &&
      (stop === undefined || stop.split(",").includes(file.stops.texts[file.place("stop", row)] ?? "")) &&
      holdsText(row),
  );
  if (sort !== "row") {
    const key = (row: number): number => file.number(sortNumbers[sort], row) ?? Number.NEGATIVE_INFINITY;
    const sign = order === "desc" ? -1 : 1;
    rows.sort((a, b) => sign * (key(a) - key(b)) || a - b);
  } else if (order === "desc") rows.reverse();
  const shown = rows.slice(offset, offset + limit);
  return {
    ...{ total: file.numRows, matching: rows.length, offset },
    rows: await rowsOf(file, shown),
  };
}

function textTest(file: EvaluationFile, text: string | undefined): (row: number) => boolean {
  if (text === undefined || text === "") return () => true;
  const part = text.toLowerCase();
  const holds = file.questions.texts.map((question) => question.toLowerCase().includes(part));
  return (row) => holds[file.place("question", row)] === true;
}

function viewOf(row: number, head: ResultHead): QuestionRow {
  const { set, id, question, answers, answer, em, f1, judge = null, rounds = 0 } = head;
  const { generatedTokens = 0, seconds = 0, stop = "answer" } = head;
  return {
    ...{ row, set, id, question, answers, answer, em, f1, judge, searches: rounds },
    ...{ generatedTokens, seconds, stop },
  };
}

async function rowsOf(file: EvaluationFile, rows: readonly number[]): Promise<QuestionRow[]> {
  const heads = await file.heads(rows);
  return heads.map((head, i) => viewOf(rows[i]!, head));
}

async function questionOf(file: EvaluationFile, row: number): Promise<QuestionDetail> {
  const result: QuestionResult = await file.row(row);
  const { acc, precision, recall, judgeReason, retrievalRecall = null, retrievalPrecision = null } = result;
  return {
    ...viewOf(row, result),
    ...{ acc, precision, recall, retrievalRecall, retrievalPrecision },
    ...(judgeReason === undefined ? {} : { judgeReason }),
    failures: result.failureReasons ?? [],
    segments: result.segments ?? [],
    searchRounds: searchRounds({ queries: result.queries ?? [], found: result.found }),
  };
}

async function comparison(
  first: Known<EvaluationFile>,
  second: Known<EvaluationFile>,
): Promise<EvaluationComparison> {
  return {
    ...{ first: await summaryOf(first), second: await summaryOf(second) },
    ...comparisonOf(first.opened, second.opened),
  };
}

async function pairPage(
  first: EvaluationFile,
  second: EvaluationFile,
  { show, text, offset, limit }: Omit<z.output<typeof comparisonQuery>, "first" | "second">,
): Promise<ComparisonPage> {
  const all = pairsOf(first, second);
  const holdsText = textTest(first, text);
  const isShown = ([a, b]: RowPair): boolean => {
    const [ours, theirs] = [first.number("em", a) ?? 0, second.number("em", b) ?? 0];
    if (!holdsText(a)) return false;
    if (show === "first") return ours > theirs;
    if (show === "second") return theirs > ours;
    return show === "all" || ours !== theirs;
  };
  const pairs = all.filter(isShown);
  const shown = pairs.slice(offset, offset + limit);
  const [ours, theirs] = await Promise.all([
    rowsOf(
      first,
      shown.map(([a]) => a),
    ),
    rowsOf(
      second,
      shown.map(([, b]) => b),
    ),
  ]);
  const rows = ours.map((row, i) => ({ first: row, second: theirs[i]! }));
  return { total: all.length, matching: pairs.length, offset, rows };
}

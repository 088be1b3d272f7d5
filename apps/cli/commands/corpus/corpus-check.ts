/** `seekrl corpus check`: what a corpus can do for questions, before anybody trains on them. */
import { z } from "zod";
import type {
  CheckProgress,
  CorpusCheck,
  QuestionReport,
} from "../../../../lib/search/corpus-check/check-corpus.ts";
import { command } from "../../command.ts";
import { dataFile } from "../../fields.ts";
import { loadSets } from "../../open/question-sets.ts";
import { progressLine } from "../../report/progress.ts";
import { tableOf } from "../../report/table.ts";

const stageNames: Readonly<Record<CheckProgress["stage"], string>> = {
  build: "index built over",
  passages: "counted",
  answers: "read for answers",
  bm25: "searched by words",
  dense: "searched by vectors",
  hybrid: "searched by both",
};

function progressText({ stage, done, total }: CheckProgress): string {
  const what = stage === "build" || stage === "passages" || stage === "answers" ? "passages" : "questions";
  return `${stageNames[stage]}: ${done}${total === undefined ? "" : ` of ${total}`} ${what}`;
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

/** One row for each way to search, the counts on the first. */
function rowsOf(name: string, report: QuestionReport): string[][] {
  const { questions, answerable, emCeiling, recall } = report;
  const counts = [name, String(questions), String(answerable), percent(emCeiling)];
  return Object.entries(recall).map(([mode, at], i) => [
    ...(i === 0 ? counts : counts.map(() => "")),
    mode,
    ...Object.values(at).map(percent),
  ]);
}

function questionTable(check: CorpusCheck, depths: readonly number[]): string {
  const head = ["questions", "all", "answerable", "EM at most", "search", ...depths.map((k) => `@${k}`)];
  const sets = check.sets.flatMap(({ name, ...report }) => rowsOf(name, report));
  const rows = [head, ...sets, ...(check.sets.length > 1 ? rowsOf("all sets", check) : [])];
  return tableOf(rows, (column) => column === 0 || column === 4);
}

/** The command. */
export const corpusCheckCommand = command({
  name: "corpus check",
  summary: "how many questions a corpus can answer, and how many of them searching finds",
  options: z.strictObject({
    corpus: z.string().describe("index folder; or passages, for which an index is built and thrown away"),
    questions: dataFile(
      z.array(z.string()).min(1).describe("JSON Lines of {question, answers or golden_answers}"),
    ),
    topK: z.array(z.int().min(1)).min(1).default([1, 5, 20]).describe("depths of recall"),
    maxWords: z.int().min(1).default(350).describe("longer passages are reported"),
  }),
  run: async ({ corpus, questions: paths, topK, maxWords }, io) => {
    const { checkCorpus } = await import("../../../../lib/search/corpus-check/check-corpus.ts");
    const { reportLines } = await import("../../../../lib/search/corpus/report.ts");
    const depths = [...new Set(topK)].sort((a, b) => a - b);
    const progress = progressLine(io);
    const check = await checkCorpus({
      ...{ corpus, depths, maxWords },
      sets: await loadSets(paths),
      onProgress: (done) => progress.show(progressText(done)),
      signal: io.signal,
    });
    progress.end();
    for (const line of reportLines(check.corpus)) io.write(`${line}\n`);
    io.write(`\n${questionTable(check, depths)}\n`);
    io.write("answerable: an answer, normalised as by SQuAD, stands word for word in a passage's text.\n");
    io.write("@k: the share of all questions with an answer among the first k hits.\n");
    const { sets, ...totals } = check;
    io.result(sets.length === 1 ? totals : { ...totals, sets });
  },
});

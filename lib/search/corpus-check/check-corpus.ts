/** How many of given questions a corpus can answer, and how often a search finds the answer. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkOptions, type OptionKinds } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import type { Question, QuestionSet } from "../../data/question.ts";
import type { PassageRange } from "../../text/words/lexicon.ts";
import { CorpusCounter, type CorpusReport } from "../corpus/report.ts";
import { buildIndex } from "../index-folder/build/build.ts";
import type { OnIndexProgress } from "../index-folder/build/progress.ts";
import type { SearchMode } from "../index-folder/find.ts";
import { findManifest } from "../index-folder/manifest.ts";
import { needManifest, openFiles, openIndex } from "../index-folder/open.ts";
import type { Segment } from "../index-folder/segment.ts";
import { AnswerFinder } from "./answer-finder.ts";

/** What to check. */
export interface CheckCorpusOptions {
  /** An index folder; or a file or folder of passages, for which an index is built and thrown away. */
  readonly corpus: string;
  readonly sets: readonly QuestionSet[];
  /** Depths at which recall is measured. @default [1, 5, 20] */
  readonly depths?: readonly number[];
  /** A passage with more words is over-long. @default 350 */
  readonly maxWords?: number;
  readonly onProgress?: (progress: CheckProgress) => void;
  readonly signal?: AbortSignal;
}

const optionKinds: OptionKinds<CheckCorpusOptions> = {
  corpus: "string",
  sets: "list",
  depths: "list",
  maxWords: "number",
  onProgress: "function",
  signal: "signal",
};

/** How far a check has come. */
export interface CheckProgress {
  readonly stage: "build" | "passages" | "answers" | SearchMode;
  readonly done: number;
  readonly total: number | undefined;
}

/** What is known of a set of questions. */
export interface QuestionReport {
  readonly questions: number;
  /** Questions of which an answer, normalised as by SQuAD, stands word for word in some passage's text. */
  readonly answerable: number;
  /** The share of them: what an agent that reads answers off passages can reach, whatever it searches with. */
  readonly emCeiling: number;
  /** By way to search and depth, the share of all questions with an answer among the first so many hits. */
  readonly recall: Readonly<Partial<Record<SearchMode, Readonly<Record<string, number>>>>>;
}

/** What a check found, over all sets together and for each. */
export interface CorpusCheck extends QuestionReport {
  readonly corpus: CorpusReport;
  readonly sets: readonly (QuestionReport & { readonly name: string })[];
}

type Work = Omit<CheckCorpusOptions, "corpus"> & { readonly folder: string };

/** Queries of one search: enough to fill all cores. */
const queriesPerSearch = 256;

/** The passages of a segment but for removed ones. */
function* liveRanges({ passages: store, removed }: Segment): Generator<PassageRange> {
  let first = 0;
  for (const row of [...removed, store.size]) {
    if (row > first) yield { store, first, count: row - first };
    first = row + 1;
  }
}

/** Every passage's text is read twice, natively: for its own sake, and for answers. */
async function readPassages(work: Work, finder: AnswerFinder): Promise<CorpusReport> {
  const { folder, maxWords = 350, onProgress, signal } = work;
  const files = await openFiles(folder, await needManifest(folder), {
    bm25: false,
    dense: false,
    embedder: false,
  });
  const counter = new CorpusCounter({ maxWords });
  const total = files.segments.reduce((sum, { passages }) => sum + passages.size, 0);
  let before = 0;
  try {
    for (const segment of files.segments) {
      onProgress?.({ stage: "passages", done: before, total });
      await counter.addStore(segment.passages, signal ? { signal } : {});
      for (const range of liveRanges(segment)) {
        const done = before + range.first;
        const report = (count: number): void => onProgress?.({ stage: "answers", done: done + count, total });
        await finder.read(range, { onProgress: report, signal });
      }
      before += segment.passages.size;
    }
    return await counter.report();
  } finally {
    counter.close();
    files.close();
  }
}

/** The rank of each question's first hit with an answer. */
async function ranksOf(
  work: Work,
  mode: SearchMode,
  finder: AnswerFinder,
  topK: number,
): Promise<Map<Question, number>> {
  const questions = work.sets.flatMap((set) => set.questions);
  const ranks = new Map<Question, number>();
  const search = await openIndex(work.folder, { mode });
  try {
    for (let at = 0; at < questions.length; at += queriesPerSearch) {
      throwIfAborted(work.signal, "check");
      const some = questions.slice(at, at + queriesPerSearch);
      const found = await search(
        some.map(({ question }) => question),
        { topK, signal: work.signal },
      );
      for (const [i, rank] of (await finder.ranks(some, found)).entries()) {
        const question = some[i];
        if (question) ranks.set(question, rank);
      }
      work.onProgress?.({ stage: mode, done: at + some.length, total: questions.length });
    }
  } finally {
    search.close();
  }
  return ranks;
}

async function modesOf(folder: string): Promise<SearchMode[]> {
  const { settings } = await needManifest(folder);
  const modes: SearchMode[] = [];
  if (settings.bm25) modes.push("bm25");
  if (settings.dense) modes.push("dense");
  return modes.length === 2 ? [...modes, "hybrid"] : modes;
}

function shareOf(questions: readonly Question[], holds: (question: Question) => boolean): number {
  return questions.length === 0 ? 0 : questions.filter(holds).length / questions.length;
}

async function checkIndex(work: Work): Promise<CorpusCheck> {
  const { sets, depths = [1, 5, 20] } = work;
  const all = sets.flatMap(({ questions }) => questions);
  const finder = await AnswerFinder.of(all);
  const corpus = await readPassages(work, finder);
  const answerable = finder.answerable();
  const ranks = new Map<SearchMode, Map<Question, number>>();
  for (const mode of await modesOf(work.folder))
    ranks.set(mode, await ranksOf(work, mode, finder, Math.max(...depths)));
  const reportOn = (questions: readonly Question[]): QuestionReport => {
    const recall = [...ranks].map(([mode, own]) => {
      const at = depths.map((k) => [
        k,
        shareOf(questions, (each) => (own.get(each) ?? Number.POSITIVE_INFINITY) <= k),
      ]);
      return [mode, Object.fromEntries(at)];
    });
    const numAnswerable = questions.filter((each) => answerable.has(each)).length;
    const emCeiling = shareOf(questions, (each) => answerable.has(each));
    const counts = { questions: questions.length, answerable: numAnswerable, emCeiling };
    return { ...counts, recall: Object.fromEntries(recall) };
  };
  const perSet = sets.map(({ name, questions }) => ({ name, ...reportOn(questions) }));
  return { ...reportOn(all), corpus, sets: perSet };
}

/**
 * Says what a corpus can do for questions before anybody trains on them: how many have an answer in it, how many of
 * those a search by words, by vectors or by both brings up, and which passages are repeated, empty or over-long. The
 * corpus is streamed; memory holds the questions and 12 bytes a passage.
 *
 * @param given corpus, questions, depths
 * @returns the findings over all questions and for each set
 * @throws ERR_IO, ERR_FORMAT for files that are not as they should be; ERR_RANGE for depths; ERR_ABORTED
 * @example
 * const { answerable, recall } = await checkCorpus({ corpus: "index", sets: [{ name: "mine", questions }] });
 */
export async function checkCorpus(given: CheckCorpusOptions): Promise<CorpusCheck> {
  const { corpus, ...options } = checkOptions("checkCorpus", given, optionKinds, ["corpus", "sets"]);
  const { depths = [1], signal, onProgress } = options;
  if (depths.length === 0) throw new SeekError("ERR_RANGE", "depths: expected at least one, got none");
  const wrong = depths.find((k) => !Number.isInteger(k) || k < 1);
  if (wrong !== undefined)
    throw new SeekError("ERR_RANGE", `depths: expected whole numbers of at least 1, got ${wrong}`);
  if (await findManifest(corpus)) return checkIndex({ ...options, folder: corpus });
  const folder = await mkdtemp(join(tmpdir(), "seekrl-check-"));
  try {
    const report: OnIndexProgress = ({ done, total }) => onProgress?.({ stage: "build", done, total });
    await buildIndex({
      ...{ corpus, out: join(folder, "index"), onProgress: report, dense: { kind: "exact" } },
      signal,
    });
    return await checkIndex({ ...options, folder: join(folder, "index") });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

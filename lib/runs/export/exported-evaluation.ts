/** A file of results, as `seekrl eval --out` writes it, as exporters read it. */
import { stat } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { SeekError } from "../../base/errors.ts";
import { type JsonRow, parseRow } from "../../data/files/jsonl.ts";
import { figureNames, intervalsOf, meansOf } from "../../evaluate/figures.ts";
import type { QuestionResult } from "../../evaluate/question-result.ts";
import { LineLog } from "../logs/line-log.ts";
import { Epochs } from "./epochs.ts";
import type { ExportedFigure, ExportedRun, ExportedTrajectory } from "./exported.ts";

/** What of a result is a score. */
const scoreNames = [
  ...(["em", "f1", "acc", "precision", "recall", "judge", "retrievalRecall", "retrievalPrecision"] as const),
];

/**
 * Reads an evaluation.
 *
 * @param path - the file
 * @throws ERR_IO; ERR_FORMAT for a file without a result, naming what came instead
 */
export async function exportedEvaluation(path: string): Promise<ExportedRun> {
  const { mtime } = await stat(path).catch((cause: Error) => {
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${cause.message}`, { cause });
  });
  const scored: Omit<QuestionResult, "segments">[] = [];
  for await (const { segments: _, ...result } of resultsOf(path)) scored.push(result);
  if (scored.length === 0) throw new SeekError("ERR_FORMAT", `${path}: expected results, got none`);
  return {
    name: basename(resolve(path)).replace(/\.jsonl$/, ""),
    kind: "evaluation",
    ...{ model: "", options: {}, hasEnded: true, endedAt: mtime },
    metrics: () => nothing(),
    trajectories: () => trajectoriesOf(path),
    lastTrajectories: () => trajectoriesOf(path),
    figures: figuresOf(scored),
  };
}

async function* nothing(): AsyncGenerator<never> {}

/** Whole lines alone: the last one of an evaluation that is under way may be half written. */
async function* resultsOf(path: string): AsyncGenerator<QuestionResult> {
  let places: { readonly offset: number; readonly length: number }[] = [];
  const log = new LineLog(path, {
    onLine: ({ length }, offset) => places.push({ offset, length }),
    onReset: () => {
      places = [];
    },
  });
  await log.refresh();
  for (const [i, { offset, length }] of places.entries()) {
    yield resultIn(parseRow((await log.read(offset, length)).toString("utf8"), i, `${path}:${i + 1}`));
  }
}

function resultIn({ value, where }: JsonRow): QuestionResult {
  const row = value as Partial<QuestionResult>;
  const isResult = typeof row.question === "string" && typeof row.em === "number";
  if (isResult && Array.isArray(row.segments)) return row as QuestionResult;
  const got = Object.keys(value).slice(0, 6).join(", ");
  throw new SeekError("ERR_FORMAT", `${where}: expected a result of seekrl eval --out, got ${got}`);
}

function figuresOf(scored: readonly Omit<QuestionResult, "segments">[]): ExportedFigure[] {
  const [means, intervals] = [meansOf(scored), intervalsOf(scored)];
  return figureNames.flatMap((name): ExportedFigure[] => {
    const [value, interval] = [means[name], intervals[name]];
    return value === null ? [] : [{ name, value, interval: interval ?? undefined }];
  });
}

async function* trajectoriesOf(path: string): AsyncGenerator<ExportedTrajectory> {
  const epochs = new Epochs();
  for await (const result of resultsOf(path)) yield trajectoryOf(result, epochs);
}

function trajectoryOf(result: QuestionResult, epochs: Epochs): ExportedTrajectory {
  const { set, id, question, answers, answer, stop, rounds, queries, failureReasons = [] } = result;
  const { seconds, segments, generatedTokens: generated, observedTokens: observed } = result;
  return {
    ...{ set, id, question, answers, answer, stop, rounds, queries, seconds, segments },
    // One id may stand in several sets.
    ...epochs.next(`${set}/${id}`),
    failures: failureReasons,
    scores: Object.fromEntries(scoreNames.map((name) => [name, result[name]])),
    numTokens: { generated, observed },
  };
}

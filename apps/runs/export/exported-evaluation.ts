/** A file of results, as `seekrl eval --out` writes it, as exporters read it. */
import { basename, resolve } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import type { QuestionResult } from "../../../lib/evaluate/question-result.ts";
import { EvaluationFile } from "../evaluations/evaluation-file.ts";
import { fileFigures } from "../evaluations/figures.ts";
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
  const file = new EvaluationFile(path);
  const isUnderWay = await file.isUnderWay();
  await file.checkWhole();
  if (file.numRows === 0) throw new SeekError("ERR_FORMAT", `${path}: expected results, got none`);
  return {
    name: basename(resolve(path)).replace(/\.jsonl$/, ""),
    kind: "evaluation",
    ...{ model: "", options: {}, hasEnded: !isUnderWay, endedAt: new Date(await file.changedAt()) },
    metrics: () => nothing(),
    trajectories: () => trajectoriesOf(file),
    lastTrajectories: () => trajectoriesOf(file),
    figures: fileFigures(file).figures.flatMap(({ name, mean, interval }): ExportedFigure[] =>
      mean === null ? [] : [{ name, value: mean, interval: interval ?? undefined }],
    ),
  };
}

async function* nothing(): AsyncGenerator<never> {}

async function* trajectoriesOf(file: EvaluationFile): AsyncGenerator<ExportedTrajectory> {
  const epochs = new Epochs();
  for (let row = 0; row < file.numRows; row += 1) yield trajectoryOf(await file.row(row), epochs);
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

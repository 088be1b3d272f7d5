/** `seekrl score-answers`: a prediction file by a system's own metric rules. */
import { z } from "zod";
import { writeJsonLines } from "../../../../lib/data/files/jsonl.ts";
import {
  answerableTotals,
  meanScores,
  type ScoredAnswer,
  scoreAnswers,
} from "../../../../lib/evaluate/score-answers.ts";
import { meanPassAtK } from "../../../../lib/evaluate/statistics/pass-at-k.ts";
import type { Verdict } from "../../../../lib/reward/judge.ts";
import { bleu } from "../../../../lib/reward/metrics/bleu.ts";
import { type RougeScores, rouge } from "../../../../lib/reward/metrics/rouge.ts";
import { rulesNames } from "../../../../lib/reward/metrics/rules.ts";
import { command } from "../../command.ts";
import { judgeAll, judgeOptions } from "../../options/judge-options.ts";
import { progressLine } from "../../report/progress.ts";

/** The command. */
export const scoreAnswersCommand = command({
  name: "score-answers",
  summary: "scores a file of predictions: EM, F1, accuracy, precision, recall, cover-EM",
  options: z.strictObject({
    predictions: z
      .array(z.string())
      .min(1)
      .describe(
        "JSON Lines or a JSON array of {question, answer or golden_answers, pred_ans or prediction}, or a rollout log of ReSearch",
      ),
    rules: z.enum(rulesNames).default("flashrag").describe("whose metric rules"),
    faithful: z
      .boolean()
      .default(false)
      .describe('an empty answer is right where the accepted one is "A" or "The", as the originals have it'),
    passAt: z
      .array(z.int().min(1))
      .optional()
      .describe("k of pass@k by exact match, over questions that were answered several times"),
    overlap: z
      .boolean()
      .default(false)
      .describe("adds BLEU-4 of all predictions and the means of ROUGE-1, ROUGE-2 and ROUGE-L"),
    out: z.string().optional().describe("file for one JSON line of scores per prediction"),
    ...judgeOptions,
  }),
  run: async ({ predictions, rules, faithful, passAt = [], overlap, out, judge }, io) => {
    const scored: ScoredAnswer[] = [];
    for (const path of predictions) {
      for await (const answer of scoreAnswers(path, rules, { faithful })) scored.push(answer);
    }
    const passed = meanPassAtK(scored, passAt);
    const means = meanScores(scored);
    const progress = progressLine(io);
    const judged = await judgeAll(scored, judge, {
      signal: io.signal,
      onVerdict: (done) => progress.show(`${done} of ${scored.length} answers judged`),
    });
    progress.end();
    const failure = judged?.verdicts.find((verdict) => "failure" in verdict);
    if (failure !== undefined) io.log(unjudged(judged?.means.judgeFailures ?? 0, failure.failure));
    const rouges = overlap ? scored.map(({ prediction, answers }) => rouge(prediction, answers)) : [];
    const rows = scored.map((answer, i) => ({ ...answer, ...rouges[i], ...verdictRow(judged?.verdicts[i]) }));
    if (out !== undefined) await writeJsonLines(out, rows);
    const all = {
      ...{ ...means, ...answerableTotals(scored) },
      ...passed,
      ...(overlap ? overlapMeans(scored, rouges) : {}),
      ...judged?.means,
    };
    for (const [name, value] of Object.entries(all)) io.write(`${name}: ${formatScore(name, value)}\n`);
    io.result(all);
  },
});

function overlapMeans(
  scored: readonly ScoredAnswer[],
  rouges: readonly RougeScores[],
): RougeScores & { readonly bleu: number } {
  const mean = (name: keyof RougeScores): number =>
    rouges.reduce((sum, each) => sum + each[name], 0) / rouges.length;
  const pairs = scored.map(({ prediction, answers }) => ({ answer: prediction, accepted: answers }));
  return { bleu: bleu(pairs), rouge1: mean("rouge1"), rouge2: mean("rouge2"), rougeL: mean("rougeL") };
}

function unjudged(count: number, reason: string): string {
  return count === 1
    ? `1 answer was not judged: ${reason}`
    : `${count} answers were not judged, the first: ${reason}`;
}

/** As the lines of `seekrl eval` have it. */
function verdictRow(verdict: Verdict | undefined): object {
  if (verdict === undefined) return {};
  if ("failure" in verdict) return { judge: null, judgeFailure: verdict.failure };
  return { judge: Number(verdict.isRight), judgeReason: verdict.rationale };
}

function formatScore(name: string, value: number): string {
  const isCount = ["n", "judged", "judgeFailures", "HasAns_total", "NoAns_total"].includes(name);
  return isCount ? String(value) : value.toFixed(4);
}

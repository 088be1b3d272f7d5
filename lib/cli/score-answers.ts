/** `seekrl score-answers`: a prediction file by a system's own metric rules. */
import { z } from "zod";
import { writeJsonLines } from "../data/jsonl.ts";
import { meanScores, type ScoredAnswer, scoreAnswers } from "../evaluate/score-answers.ts";
import { answerRules, type RulesName } from "../reward/rules.ts";
import { command } from "./command.ts";

const rulesNames = Object.keys(answerRules) as RulesName[];

/** The command. */
export const scoreAnswersCommand = command({
  name: "score-answers",
  summary: "scores a file of predictions: EM, F1, accuracy, precision, recall, cover-EM",
  options: z.strictObject({
    predictions: z
      .string()
      .describe("JSON Lines or a JSON array of {question, answer or golden_answers, pred_ans or prediction}"),
    rules: z.enum(rulesNames).default("flashrag").describe("whose metric rules"),
    out: z.string().optional().describe("file for one JSON line of scores per prediction"),
  }),
  run: async ({ predictions, rules, out }, io) => {
    const scored: ScoredAnswer[] = [];
    for await (const answer of scoreAnswers(predictions, rules)) scored.push(answer);
    const means = meanScores(scored);
    if (out !== undefined) await writeJsonLines(out, scored);
    for (const [name, value] of Object.entries(means)) {
      io.write(`${name}: ${name === "n" ? value : value.toFixed(4)}\n`);
    }
    io.result(means);
  },
});

/** `seekrl eval`: lets an agent answer questions and scores it. */
import { z } from "zod";
import { evaluate } from "../evaluate/evaluate.ts";
import { answerRules, type RulesName } from "../reward/rules.ts";
import { searchAgent } from "../rollout/agent.ts";
import { agentOptions, agentParts, loadQuestions, recipeOf } from "./agent-options.ts";
import { command } from "./command.ts";
import { modelOptions, samplingOptions } from "./model-options.ts";
import { progressLine } from "./progress.ts";
import { openSearch } from "./search-options.ts";
import { openSession } from "./session.ts";

const rulesNames = Object.keys(answerRules) as RulesName[];

/** The command. */
export const evalCommand = command({
  name: "eval",
  summary:
    "answers questions with an agent: EM, F1, accuracy, precision, recall, rounds of retrieval, seconds per question",
  options: z.strictObject({
    ...modelOptions,
    questions: z.string().describe("JSON Lines of {id, question, answers}"),
    ...agentOptions,
    temperature: samplingOptions.temperature.default(0),
    topP: samplingOptions.topP,
    rules: z.enum(rulesNames).default("flashrag").describe("whose metric rules"),
    numQuestions: z.int().min(1).optional().describe("takes the first ones only"),
    concurrency: z.int().min(1).default(256).describe("questions under way at once"),
    seed: z.int().min(0).default(0).describe("fixes every sampled token"),
    out: z.string().optional().describe("file for one JSON line per question"),
  }),
  run: async (options, io) => {
    const questions = await loadQuestions(options.questions, options.numQuestions);
    const { temperature, topP, seed, rules, concurrency, out } = options;
    const recipe = { ...recipeOf(options), sampling: { temperature, topP } };
    using index = await openSearch(options);
    await using session = await openSession(options);
    const agent = searchAgent(agentParts(session, index.search, recipe));
    const progress = progressLine(io);
    const { perQuestion, ...means } = await evaluate({
      questions,
      agent,
      seed,
      rules,
      concurrency,
      ...(out === undefined ? {} : { output: out }),
      onProgress: ({ done, total, em }) =>
        progress.show(`${done} of ${total} questions, EM ${em.toFixed(3)}`),
      signal: io.signal,
    });
    progress.end();
    const [reason] = perQuestion.flatMap(({ failureReasons = [] }) => failureReasons);
    if (reason !== undefined) io.log(`${means.failures} searches failed, the first one with: ${reason}`);
    for (const [name, value] of Object.entries(means)) io.write(`${name}: ${formatNumber(value)}\n`);
    io.result(means);
  },
});

function formatNumber(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(4);
}

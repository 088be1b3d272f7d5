/** `seekrl reward serve`: a recipe's reward for other trainers. */
import { z } from "zod";
import { Journal } from "../../../../lib/base/files/journal.ts";
import type { TextFamily } from "../../../../lib/reward/text-trajectory.ts";
import { type CommandIo, command, untilStopped } from "../../command.ts";
import { dataFile } from "../../fields.ts";
import { loadQuestions } from "../../options/agent-options.ts";
import { chooseRecipe, type RecipeChoice, recipeOptions } from "../../options/recipe-options.ts";
import { keyVariable, servedAt, serveOptions } from "../../options/serve-options.ts";

const families: Readonly<Record<RecipeChoice["name"], TextFamily>> = {
  "rag-r1": "rag",
  "search-r1": "rag",
  world: "rag",
  research: "research",
  "agentic-rag-r1": "agentic",
  "r1-searcher": "r1-searcher",
};

/** The command. */
export const rewardServeCommand = command({
  name: "reward serve",
  summary: `serves a recipe's reward as POST /get_reward until it is told to stop; a key in ${keyVariable} is asked of every client`,
  isService: true,
  options: z.strictObject({
    questions: dataFile(
      z.string().describe("JSON Lines or parquet of {question, answers}: whose answers are accepted"),
    ),
    ...recipeOptions,
    log: z.string().optional().describe("file that gets a line for each scored text: text, question, reward"),
    ...serveOptions(1278),
  }),
  run: async ({ questions: path, log: logPath, host, port, open, corsOrigin, graceMs, recipe }, io) => {
    // A text has no tokens that could earn something.
    const whole = recipe.name === "agentic-rag-r1" ? { ...recipe, tokenLevel: false } : recipe;
    const { reward } = chooseRecipe(whole);
    const questions = await loadQuestions(path);
    const log = logPath === undefined ? undefined : await Journal.continued(logPath);
    const { serveRewards } = await import("../../../serve/reward-server.ts");
    try {
      const server = await serveRewards({
        ...servedAt({ host, port, open, corsOrigin }, io),
        onScore: log && ((scored) => void log.add(scored).catch(complain(io))),
        ...{ reward, questions, family: families[recipe.name] },
      });
      const { url } = server;
      io.write(`rewards of ${recipe.name} for ${questions.length} questions at ${url}\n`);
      io.result({ url, host: server.host, port: server.port, questions: questions.length });
      await untilStopped(io);
      await server.close({ graceMs });
    } finally {
      await log?.close();
    }
  },
});

function complain({ log }: CommandIo): (error: Error) => void {
  return ({ message }) => log(`not written down: ${message}`);
}

/** `seekrl world`: the built-in world as files, with demonstrations in the words of any recipe. */
import { join } from "node:path";
import { z } from "zod";
import { writeJsonLines } from "../../../../lib/data/files/jsonl.ts";
import { worldMemorySpeech, worldSpeech } from "../../../world/recipes/world-speech.ts";
import { formatLearning } from "../../../world/recipes/world-training.ts";
import { demonstrations } from "../../../world/teachers/demonstrations.ts";
import { memoryRows } from "../../../world/teachers/memory-demonstrations.ts";
import { writeWorldFiles } from "../../../world/world-files.ts";
import { command } from "../../command.ts";
import { chooseRecipe, type RecipeChoice, recipeOptions } from "../../options/recipe-options.ts";

/** The command. */
export const worldCommand = command({
  name: "world",
  summary: "writes the built-in world: passages, questions, and demonstrations for a recipe",
  options: z.strictObject({
    out: z.string().describe("folder to write"),
    ...recipeOptions,
    demonstrations: z.int().min(0).default(2400).describe("conversations of a teacher, for sft"),
    seed: z.int().min(0).default(0).describe("of the world and the demonstrations"),
  }),
  run: async ({ out, recipe, demonstrations: count, seed }, io) => {
    const { passages, questions } = await writeWorldFiles(out, { seed });
    const shown = demonstrationRows(recipe, { seed: seed + 1, count });
    await writeJsonLines(join(out, "demonstrations.jsonl"), shown);
    const counts = { passages: passages.length, questions: Object.values(questions).flat().length };
    io.write(
      `${counts.passages} passages, ${counts.questions} questions, ${count} demonstrations in ${out}\n`,
    );
    io.result({ out, ...counts, demonstrations: count });
  },
});

function* demonstrationRows(
  choice: RecipeChoice,
  how: { readonly seed: number; readonly count: number },
): Generator<object> {
  const { family } = formatLearning[choice.name];
  if (family === "memory") {
    const recipe = chooseRecipe({ ...choice, name: "agentic-rag-r1", worldPrompt: true });
    yield* memoryRows({ ...how, speech: worldMemorySpeech(recipe) });
    return;
  }
  const recipe = chooseRecipe(choice);
  const speech = worldSpeech(recipe, family);
  for (const { segments } of demonstrations({ ...how, mode: recipe.format.mode, speech })) yield { segments };
}

/** The built-in world as files: its passages, and its questions by split. */
import { join } from "node:path";
import { writeJsonLines } from "../../lib/data/files/jsonl.ts";
import { writeQuestions } from "../../lib/data/question.ts";
import { createWorld, type World } from "./world.ts";

/**
 * Writes `corpus.jsonl`, `train.jsonl`, `validation.jsonl` and `test.jsonl`.
 *
 * @param folder - made when missing
 * @param options - the world's seed
 * @returns what was written
 * @throws ERR_IO
 */
export async function writeWorldFiles(
  folder: string,
  options: { readonly seed: number },
): Promise<Pick<World, "passages" | "questions">> {
  const { passages, questions } = createWorld(options);
  await writeJsonLines(join(folder, "corpus.jsonl"), passages);
  for (const [split, list] of Object.entries(questions))
    await writeQuestions(join(folder, `${split}.jsonl`), list);
  return { passages, questions };
}

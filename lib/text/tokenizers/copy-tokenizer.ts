/** Copies what makes text of a model folder's ids into another folder, so that a checkpoint is a whole model. */
import { copyFile, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../../base/errors.ts";

const tokenizerFile =
  /^(tokenizer.*|special_tokens_map\.json|added_tokens\.json|generation_config\.json|vocab\..*|merges\.txt|chat_template\..*|.*\.model)$/;

/**
 * Copies a model folder's tokenizer and chat template.
 *
 * @param from - a model folder
 * @param to - another one, made when missing
 * @throws ERR_IO when the file system refuses
 */
export async function copyTokenizer(from: string, to: string): Promise<void> {
  try {
    await mkdir(to, { recursive: true });
    const files = (await readdir(from, { withFileTypes: true })).filter((entry) => entry.isFile());
    const wanted = files.map(({ name }) => name).filter((name) => tokenizerFile.test(name));
    await Promise.all(wanted.map((name) => copyFile(join(from, name), join(to, name))));
  } catch (cause) {
    throw new SeekError(
      "ERR_IO",
      `${to}: the tokenizer of ${from} cannot be copied: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

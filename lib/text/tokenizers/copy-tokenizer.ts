/** Copies what stands beside the weights of a model folder into another folder, so that a checkpoint is a whole model. */
import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../../base/errors.ts";
import { copyRegular } from "../../base/files/regular-file.ts";
import { isGguf } from "../../base/gguf/gguf.ts";
import { ggufTokenizerFiles } from "./gguf/gguf-tokenizer.ts";

// A model of the built-in world says in world.json how it is asked.
const companionFile =
  /^(world\.json|tokenizer.*|special_tokens_map\.json|added_tokens\.json|generation_config\.json|vocab\..*|merges\.txt|chat_template\..*|.*\.model)$/;

/**
 * Copies a model's tokenizer and chat template, and what says how it is asked; those of a GGUF file become the files of a folder.
 *
 * @param from - a model folder, or a GGUF file
 * @param to - another folder, made when missing
 * @throws ERR_IO when the file system refuses; ERR_FORMAT for a GGUF file whose tokenizer is not known here
 */
export async function copyTokenizer(from: string, to: string): Promise<void> {
  try {
    await mkdir(to, { recursive: true });
    if (isGguf(from)) {
      for (const [name, content] of await ggufTokenizerFiles(from)) await writeFile(join(to, name), content);
      return;
    }
    // In the hub's cache files are links.
    const files = (await readdir(from, { withFileTypes: true })).filter((entry) => !entry.isDirectory());
    const wanted = files.map(({ name }) => name).filter((name) => companionFile.test(name));
    await Promise.all(wanted.map((name) => copyRegular(join(from, name), join(to, name))));
  } catch (cause) {
    if (cause instanceof SeekError) throw cause;
    throw new SeekError(
      "ERR_IO",
      `${to}: the tokenizer of ${from} cannot be copied: ${(cause as Error).message}`,
      {
        cause,
      },
    );
  }
}

/** The tokenizer of a run, which turns the ids of its log into texts again. */
import { codeOf } from "../../../lib/base/errors.ts";
import { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { RunFolder } from "../../runs/run-folder.ts";

/** Kept at once: a vocabulary of 150,000 takes some tens of megabytes. */
const maxTokenizers = 3;

/** Tokenizers by the folder that they were found in. */
export class Tokenizers {
  readonly #opened = new Map<string, Promise<Tokenizer>>();

  /**
   * The tokenizer of a run: beside its final model, its newest checkpoint, or the model it was begun with.
   *
   * @returns undefined where none of these has one
   */
  async of(run: RunFolder): Promise<Tokenizer | undefined> {
    for (const folder of await run.modelFolders()) {
      try {
        return await this.#open(folder);
      } catch (error) {
        // A folder without one, or one that is no tokenizer that we read, shows no pieces; the ids stay.
        if (codeOf(error) === undefined) throw error;
        this.#opened.delete(folder);
      }
    }
    return undefined;
  }

  #open(folder: string): Promise<Tokenizer> {
    const known = this.#opened.get(folder);
    if (known !== undefined) return known;
    const opening = Tokenizer.load(folder);
    this.#opened.set(folder, opening);
    const [oldest] = this.#opened.keys();
    if (this.#opened.size > maxTokenizers && oldest !== undefined) this.#opened.delete(oldest);
    return opening;
  }
}

/** The documents of an index folder, opened when the first one is asked for. */

import { Library } from "../../../lib/rollout/tools/built-in/library.ts";
import { indexInfo } from "../../../lib/search/index-folder/info.ts";
import type { FoundDocument, ServedCorpus } from "./parts.ts";

/** An index as a corpus; reading all titles takes a while, and memory, so nobody pays for it who only searches. */
export class IndexCorpus implements ServedCorpus {
  readonly #folder: string;
  #library: Promise<Library> | undefined;

  /** @param folder - of the index */
  constructor(folder: string) {
    this.#folder = folder;
  }

  async find(name: string): Promise<FoundDocument | undefined> {
    this.#library ??= Library.open(this.#folder);
    const opening = this.#library;
    opening.catch(() => {
      // The next one tries again.
      if (this.#library === opening) this.#library = undefined;
    });
    return (await opening).find(name);
  }

  async describe(): Promise<Readonly<Record<string, unknown>>> {
    const { passages, settings } = await indexInfo(this.#folder);
    const { bm25, dense } = settings;
    const vectors = dense && { width: dense.embedder.dim, numbers: dense.dtype, metric: dense.metric };
    return { passages, byWords: bm25 !== undefined, ...(vectors && { vectors }) };
  }

  /** Lets go of the files. */
  async close(): Promise<void> {
    const library = await this.#library?.catch(() => undefined);
    library?.close();
  }
}

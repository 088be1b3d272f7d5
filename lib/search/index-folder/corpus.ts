/** What is indexed: passages as they come, or files of documents, cut into passages where they are texts. */

import { stat } from "node:fs/promises";
import { basename } from "node:path";
import { checkArgument } from "../../base/check-options.ts";
import { SeekError } from "../../base/errors.ts";
import { formatOf } from "../corpus/format.ts";
import type { Passage } from "../corpus/passage.ts";
import { corpusFiles, type ReadProgress, readDocuments } from "../corpus/read-documents.ts";
import { type SplitOptions, splitDocuments, splitKind } from "../corpus/split-documents.ts";

/** Passages, or a file or folder that `readDocuments` reads. */
export type Corpus = string | Iterable<Passage> | AsyncIterable<Passage>;

/**
 * How documents are cut into passages. `auto`: a file or folder of plain text into paragraphs of about 100 words, all
 * else not at all, since tables and JSON Lines mostly hold passages already; a folder of both is refused.
 */
export type Split = "auto" | false | Omit<SplitOptions, "signal">;

/** What `auto` does to plain text. */
const textSplit = { by: "paragraphs", size: 100 } as const;

/** Refuses what is no {@link Split}. */
export function checkSplit(name: string, split: unknown): void {
  if (typeof split === "object") splitKind(name, split);
  else checkArgument(name, split, ["auto", false]);
}

/** How to read a corpus. */
export interface CorpusOptions {
  /** @default "auto" */
  readonly split?: Split | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Told what share of the corpus is read, where that is a path. */
  readonly onShare?: ((share: number) => void) | undefined;
}

/** Whether a corpus is all plain text. @throws ERR_ARGUMENT for a folder that has such files beside others */
async function isPlainText(corpus: Corpus): Promise<boolean> {
  if (typeof corpus !== "string") return false;
  const texts: string[] = [];
  const others: string[] = [];
  for (const { path } of await corpusFiles(corpus))
    ((await formatOf(path)) === "text" ? texts : others).push(basename(path));
  if (texts.length === 0 || others.length === 0) return others.length === 0;
  throw new SeekError(
    "ERR_ARGUMENT",
    `${corpus}: expected plain text, which is cut, or passages, which are not, got both: ${texts[0]} and ${others[0]}. ` +
      "Remedy: two folders, or say how all is cut (split; --split paragraphs, --split none)",
  );
}

/** The passages of a corpus in their order. @throws as `readDocuments` and `splitDocuments` */
export async function* passagesOf(
  corpus: Corpus,
  { split = "auto", signal, onShare }: CorpusOptions,
): AsyncGenerator<Passage> {
  const onProgress = ({ numBytes, totalBytes }: ReadProgress): void => onShare?.(numBytes / totalBytes);
  const documents = typeof corpus === "string" ? readDocuments(corpus, { signal, onProgress }) : corpus;
  const chosen = split === "auto" ? (await isPlainText(corpus)) && textSplit : split;
  yield* chosen === false ? documents : splitDocuments(documents, { ...chosen, signal });
}

/** Looks at a corpus that is a path before anything is written. @throws ERR_IO, ERR_FORMAT; also when it holds nothing */
export async function requirePassages(corpus: Corpus, options: CorpusOptions): Promise<void> {
  if (typeof corpus !== "string") return;
  await stat(corpus).catch((cause) => {
    throw new SeekError("ERR_IO", `${corpus}: cannot be read: ${cause.message}`, { cause });
  });
  for await (const _ of passagesOf(corpus, { split: options.split, signal: options.signal })) return;
  throw new SeekError("ERR_FORMAT", `${corpus}: expected passages, got an empty corpus`);
}

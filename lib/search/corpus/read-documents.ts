/** Documents from a file or a folder of files in any known form, as a stream. */

import { readdir, stat } from "node:fs/promises";
import { basename, join, relative } from "node:path";
import { batchesOf } from "../../base/batches.ts";
import { checkArgument, checkOptions } from "../../base/check-options.ts";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { readElements } from "../../data/files/json-elements.ts";
import { type JsonRow, parseRow } from "../../data/files/jsonl.ts";
import { type ReadFileOptions, readChunks, readLines } from "../../data/files/text-file.ts";
import { type Document, documentFromRow } from "./document.ts";
import { formatOf } from "./format.ts";
import { readParquet } from "./parquet.ts";
import { PassageStore } from "./passage-store.ts";
import { readTable } from "./tsv.ts";

/** How far reading has come. */
export interface ReadProgress {
  /** The file being read. */
  readonly file: string;
  /** Of all files, as they lie on the disk. */
  readonly numBytes: number;
  readonly totalBytes: number;
  readonly numDocuments: number;
}

/** How documents are read. */
export interface ReadDocumentsOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called after every piece of a file. */
  readonly onProgress?: ((progress: ReadProgress) => void) | undefined;
}

/** One file of a corpus. */
export interface CorpusFile {
  readonly path: string;
  readonly numBytes: number;
}

async function* readJsonLines(path: string, options: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  let index = 0;
  for await (const { texts, first } of readLines(path, options)) {
    const rows: JsonRow[] = [];
    for (const [i, text] of texts.entries()) {
      if (text.trim() !== "") rows.push(parseRow(text, index + rows.length, `${path}:${first + i}`));
    }
    yield rows;
    index += rows.length;
  }
}

/** Rows of a list; members of an object are titles with their texts. */
async function* readJson(path: string, options: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  for await (const { kind, texts, first } of readElements(path, options)) {
    yield texts.map((text, i) => {
      const row = parseRow(text, first + i, `${path}[${first + i}]`);
      if (kind === "list") return row;
      const [title = "", content] = Object.entries(row.value)[0] ?? [];
      return { ...row, value: { title, text: content } };
    });
  }
}

/** A text file is one document, named by its path in the corpus. */
async function* readText(path: string, id: string, options: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  const chunks: Buffer[] = [];
  for await (const chunk of readChunks(path, options)) chunks.push(chunk);
  const title = basename(id).replace(/(\.(txt|md))?(\.gz)?$/i, "");
  try {
    const text = new TextDecoder("utf-8", { fatal: true }).decode(Buffer.concat(chunks));
    yield [{ value: { id, title, text }, index: 0, where: path }];
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: expected UTF-8, got other bytes`, { cause });
  }
}

/** The passages of a store, whole as they are. */
async function* readStore(path: string, { signal, onBytes }: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  const store = await PassageStore.open(path);
  const { size: numBytes } = await stat(path);
  try {
    let index = 0;
    for await (const passages of batchesOf(store, 1024)) {
      throwIfAborted(signal, path);
      yield passages.map((value, i) => ({
        value: { ...value },
        index: index + i,
        where: `${path}[${index + i}]`,
      }));
      index += passages.length;
      onBytes?.(Math.round((numBytes * index) / store.size));
    }
  } finally {
    store.close();
  }
}

async function readRows(
  path: string,
  id: string,
  options: ReadFileOptions,
): Promise<AsyncGenerator<JsonRow[]>> {
  const format = await formatOf(path);
  if (format === "text") return readText(path, id, options);
  const readers = {
    jsonl: readJsonLines,
    json: readJson,
    table: readTable,
    parquet: readParquet,
    store: readStore,
  };
  return readers[format](path, options);
}

/**
 * The files of a corpus: the one that `path` names, or all in that folder and those inside, by name; names that begin
 * with a dot are passed over.
 *
 * @throws ERR_IO; ERR_FORMAT for a folder without files
 */
export async function corpusFiles(path: string): Promise<CorpusFile[]> {
  try {
    if (!(await stat(path)).isDirectory()) return [{ path, numBytes: (await stat(path)).size }];
    const entries = await readdir(path, { withFileTypes: true, recursive: true });
    const names = entries
      .filter((entry) => !entry.isDirectory())
      .map((entry) => relative(path, join(entry.parentPath, entry.name)))
      .filter((name) => !/(^|\/)\./.test(name))
      .sort();
    if (names.length === 0)
      throw new SeekError("ERR_FORMAT", `${path}: expected files of documents, got none`);
    return await Promise.all(
      names.map(async (name) => ({ path: join(path, name), numBytes: (await stat(join(path, name))).size })),
    );
  } catch (cause) {
    if (cause instanceof SeekError) throw cause;
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Reads documents one by one, whatever the size of the corpus: JSON Lines, a JSON list, a JSON object from titles to
 * texts, TSV, parquet, KILT's knowledge source, text files (each also as gzip) and passage stores. The form is found from the bytes.
 *
 * @param path a file, or a folder whose files are read by name
 * @param options `signal` ends the reading, `onProgress` gets how far it is
 * @returns the documents in order; one without an id is named by its number among all of them
 * @throws ERR_IO when a file cannot be read, ERR_FORMAT (with file:line) when it holds something else, ERR_ABORTED
 * @example
 * for await (const { title, text } of readDocuments("passages.jsonl")) console.log(title, text.length);
 */
export async function* readDocuments(
  path: string,
  options: ReadDocumentsOptions = {},
): AsyncGenerator<Document> {
  checkArgument("readDocuments: path", path, "string");
  const kinds = { signal: "signal", onProgress: "function" } as const;
  const { signal, onProgress } = checkOptions("readDocuments", options, kinds);
  const files = await corpusFiles(path);
  const totalBytes = files.reduce((sum, { numBytes }) => sum + numBytes, 0);
  let numDocuments = 0;
  let bytesBefore = 0;
  for (const { path: file, numBytes } of files) {
    const onBytes = (read: number): void =>
      onProgress?.({ file, numBytes: bytesBefore + read, totalBytes, numDocuments });
    const id = file === path ? basename(path) : relative(path, file);
    for await (const rows of await readRows(file, id, { signal, onBytes })) {
      const first = numDocuments;
      for (const [i, row] of rows.entries()) {
        const document = documentFromRow({ ...row, index: first + i });
        numDocuments += 1;
        yield document;
      }
    }
    bytesBefore += numBytes;
  }
}

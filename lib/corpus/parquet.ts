/** Documents in parquet files, one row group at a time. */
import { stat } from "node:fs/promises";
import { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } from "hyparquet";
import { compressors } from "hyparquet-compressors";
import { SeekError, throwIfAborted } from "../base/errors.ts";
import type { JsonRow } from "../data/jsonl.ts";
import type { ReadFileOptions } from "../data/text-file.ts";

/** The columns that a document can come from; others are not read. */
const known = ["id", "_id", "wikipedia_id", "title", "wikipedia_title", "text", "contents"];

function damaged(path: string, cause: unknown): unknown {
  if (cause instanceof SeekError) return cause;
  const { syscall, message } = cause as NodeJS.ErrnoException;
  if (syscall !== undefined) return new SeekError("ERR_IO", `${path}: cannot be read: ${message}`, { cause });
  return new SeekError("ERR_FORMAT", `${path}: not a readable parquet file: ${message}`, { cause });
}

async function* readGroups(path: string, { signal, onBytes }: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const present = parquetSchema(metadata).children.map(({ element }) => element.name);
  const columns = known.filter((name) => present.includes(name));
  if (!columns.some((name) => name === "text" || name === "contents"))
    throw new SeekError(
      "ERR_FORMAT",
      `${path}: expected column "text" or "contents", got columns ${present.join(", ")}`,
    );
  const { size } = await stat(path);
  let index = 0;
  for (const group of metadata.row_groups) {
    throwIfAborted(signal, path);
    const rowEnd = index + Number(group.num_rows);
    const rows = await parquetReadObjects({ file, metadata, columns, rowStart: index, rowEnd, compressors });
    yield rows.map((value, i) => ({ value, index: index + i, where: `${path}[${index + i}]` }));
    index = rowEnd;
    onBytes?.(Math.round((size * index) / Number(metadata.num_rows)));
  }
}

/**
 * The rows of a parquet file with the columns that a document can come from; memory holds one row group.
 *
 * @throws ERR_IO, ERR_FORMAT when the file is damaged or has no column of text, ERR_ABORTED
 */
export async function* readParquet(path: string, options: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  try {
    yield* readGroups(path, options);
  } catch (cause) {
    throw damaged(path, cause);
  }
}

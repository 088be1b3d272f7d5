/** Rows of parquet files, one row group at a time. */
import { stat } from "node:fs/promises";
import { SeekError, throwIfAborted } from "../../base/errors.ts";
import { checkRegular } from "../../base/files/regular-file.ts";
import type { JsonRow } from "./jsonl.ts";
import type { ReadFileOptions } from "./text-file.ts";

/** Which columns of those present are read; it may refuse the file. */
type ChooseColumns = (present: readonly string[]) => readonly string[];

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** hyparquet itself would put U+FFFD where the bytes are no UTF-8. */
const parsers = {
  stringFromBytes: (bytes: Uint8Array | undefined): string | undefined => bytes && utf8.decode(bytes),
};

function damaged(path: string, cause: unknown): unknown {
  if (cause instanceof SeekError) return cause;
  const { syscall, message } = cause as NodeJS.ErrnoException;
  if (syscall !== undefined) return new SeekError("ERR_IO", `${path}: cannot be read: ${message}`, { cause });
  return new SeekError("ERR_FORMAT", `${path}: not a readable parquet file: ${message}`, { cause });
}

async function* readGroups(
  path: string,
  choose: ChooseColumns,
  { signal, onBytes }: ReadFileOptions,
): AsyncGenerator<JsonRow[]> {
  const { asyncBufferFromFile, parquetMetadataAsync, parquetReadObjects, parquetSchema } = await import(
    "hyparquet"
  );
  const { compressors } = await import("hyparquet-compressors");
  await checkRegular(path);
  const file = await asyncBufferFromFile(path);
  const metadata = await parquetMetadataAsync(file);
  const present = parquetSchema(metadata).children.map(({ element }) => element.name);
  const columns = [...choose(present)];
  const { size } = await stat(path);
  let index = 0;
  for (const group of metadata.row_groups) {
    throwIfAborted(signal, path);
    const rowEnd = index + Number(group.num_rows);
    const rows = await parquetReadObjects({
      file,
      metadata,
      columns,
      rowStart: index,
      rowEnd,
      compressors,
      parsers,
    });
    const place = index;
    yield rows.map((value, i) => {
      return { value, index: place + i, where: `${path}[${place + i}]`, columns: present };
    });
    index = rowEnd;
    onBytes?.(Math.round((size * index) / Number(metadata.num_rows)));
  }
}

/**
 * The rows of a parquet file; memory holds one row group. 64-bit integers come as bigint.
 *
 * @param path - the file
 * @param choose - which columns; each costs its share of the file
 * @param options - `signal`, and `onBytes` for progress
 * @returns lists of rows, each knowing its place
 * @throws ERR_IO, ERR_FORMAT when the file is damaged, ERR_ABORTED, and what `choose` throws
 */
export async function* readParquetGroups(
  path: string,
  choose: ChooseColumns,
  options: ReadFileOptions = {},
): AsyncGenerator<JsonRow[]> {
  try {
    yield* readGroups(path, choose, options);
  } catch (cause) {
    throw damaged(path, cause);
  }
}

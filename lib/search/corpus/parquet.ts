/** Documents in parquet files. */
import { SeekError } from "../../base/errors.ts";
import type { JsonRow } from "../../data/files/jsonl.ts";
import { readParquetGroups } from "../../data/files/parquet.ts";
import type { ReadFileOptions } from "../../data/files/text-file.ts";

/** The columns that a document can come from; others are not read. */
const known = ["id", "_id", "wikipedia_id", "title", "wikipedia_title", "text", "contents"];

/**
 * The rows of a parquet file with the columns that a document can come from; memory holds one row group.
 *
 * @throws ERR_IO, ERR_FORMAT when the file is damaged or has no column of text, ERR_ABORTED
 */
export function readParquet(path: string, options: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  const choose = (present: readonly string[]): string[] => {
    const columns = known.filter((name) => present.includes(name));
    if (columns.includes("text") || columns.includes("contents")) return columns;
    const actual = present.join(", ");
    throw new SeekError("ERR_FORMAT", `${path}: expected column "text" or "contents", got columns ${actual}`);
  };
  return readParquetGroups(path, choose, options);
}

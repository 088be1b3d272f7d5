/** Rows of the kinds of file that data sets come in: JSON Lines, one JSON list, CSV, TSV, parquet. */
import { readCsvRows } from "./csv.ts";
import { type JsonLayout, type JsonRow, readJsonRows } from "./jsonl.ts";
import { readParquetGroups } from "./parquet.ts";

/**
 * The rows of a file; its name decides between parquet, CSV, TSV and JSON (lines or one list). All but parquet may be
 * gzip.
 *
 * @param path - the file
 * @param columns - those worth reading, of which a parquet file may have any
 * @param layout - of a JSON file
 * @throws ERR_IO, ERR_FORMAT with the place
 */
export async function* readDataRows(
  path: string,
  columns: readonly string[],
  layout: JsonLayout = {},
): AsyncGenerator<JsonRow> {
  const [, kind] = /\.(parquet|csv|tsv)(?:\.gz)?$/i.exec(path) ?? [];
  if (kind === undefined) return yield* readJsonRows(path, layout);
  if (kind.toLowerCase() !== "parquet")
    return yield* readCsvRows(path, kind.toLowerCase() === "csv" ? "," : "\t");
  const choose = (present: readonly string[]): string[] => columns.filter((name) => present.includes(name));
  for await (const rows of readParquetGroups(path, choose)) yield* rows;
}

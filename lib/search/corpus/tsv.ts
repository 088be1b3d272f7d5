/** Documents in tables of tab-separated columns: with a header as DPR's, or as RAG-R1's split of KILT. */
import { SeekError } from "../../base/errors.ts";
import type { JsonRow } from "../../data/files/jsonl.ts";
import { type ReadFileOptions, readLines } from "../../data/files/text-file.ts";

/** A line of RAG-R1's split: number, title, three spaces, text. */
const kiltLine = /^(\d+)\t(.*?) {3}(.*)$/;

/** Whether a line is one of RAG-R1's split of KILT. */
export function isKiltLine(line: string): boolean {
  return kiltLine.test(line);
}

/** The columns that a first line names, if it is the header of a corpus. */
export function headerOf(line: string): string[] | undefined {
  const columns = line.split("\t").map((name) => name.trim().toLowerCase());
  const isHeader = columns.includes("id") && (columns.includes("text") || columns.includes("contents"));
  return isHeader ? columns : undefined;
}

/** A field as spreadsheets write it: in quotes, with those inside doubled; any other field is what stands there. */
function unquoted(field: string): string {
  return /^"(?:[^"]|"")*"$/.test(field) ? field.slice(1, -1).replaceAll('""', '"') : field;
}

function rowOf(fields: readonly string[], header: readonly string[], where: string): JsonRow["value"] {
  if (fields.length === header.length)
    return Object.fromEntries(header.map((name, i) => [name, unquoted(fields[i] ?? "")]));
  throw new SeekError(
    "ERR_FORMAT",
    `${where}: expected ${header.length} columns (${header.join(", ")}), got ${fields.length}`,
  );
}

function kiltRow(line: string, where: string): JsonRow["value"] {
  const [, id, title, text] = kiltLine.exec(line) ?? [];
  if (text !== undefined) return { id, title, text };
  throw new SeekError("ERR_FORMAT", `${where}: expected "number, tab, title, three spaces, text"`);
}

/**
 * The rows of a table, some at a time. A first line that is no header is a row of RAG-R1's split.
 *
 * @throws ERR_IO, ERR_FORMAT with file:line, ERR_ABORTED
 */
export async function* readTable(path: string, options: ReadFileOptions): AsyncGenerator<JsonRow[]> {
  let header: string[] | undefined;
  let index = 0;
  for await (const { texts, first } of readLines(path, options)) {
    const rows: JsonRow[] = [];
    for (const [i, text] of texts.entries()) {
      const line = text.endsWith("\r") ? text.slice(0, -1) : text;
      const where = `${path}:${first + i}`;
      if (first + i === 1) header = headerOf(line);
      if (line === "" || (first + i === 1 && header !== undefined)) continue;
      const value = header === undefined ? kiltRow(line, where) : rowOf(line.split("\t"), header, where);
      rows.push({ value, index, where });
      index += 1;
    }
    yield rows;
  }
}

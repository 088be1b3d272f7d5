/** Rows of CSV and TSV files with a header, as spreadsheets and pandas write them. */
import { SeekError } from "../../base/errors.ts";
import type { JsonRow } from "./jsonl.ts";
import { readLines } from "./text-file.ts";

/** A quote that never closes must not take the rest of the file. */
const maxOpenChars = 1 << 18;

/** The end of a quoted field that begins at `at`, and its text; undefined when it does not close. */
function quotedField(
  record: string,
  at: number,
): { readonly text: string; readonly end: number } | undefined {
  let text = "";
  for (let begin = at + 1; ; ) {
    const quote = record.indexOf('"', begin);
    if (quote < 0) return undefined;
    text += record.slice(begin, quote);
    if (record[quote + 1] !== '"') return { text, end: quote + 1 };
    text += '"';
    begin = quote + 2;
  }
}

/** The fields of a record; undefined when it goes on in the next line. */
function fieldsOf(record: string, separator: string, where: string): string[] | undefined {
  const fields: string[] = [];
  for (let at = 0; ; at += 1) {
    if (record[at] === '"') {
      const field = quotedField(record, at);
      if (field === undefined) return undefined;
      fields.push(field.text);
      at = field.end;
      if (at < record.length && record[at] !== separator)
        throw new SeekError(
          "ERR_FORMAT",
          `${where}: expected a separator behind a quoted field, got ${record[at]}`,
        );
    } else {
      const next = record.indexOf(separator, at);
      const end = next < 0 ? record.length : next;
      fields.push(record.slice(at, end));
      at = end;
    }
    if (at >= record.length) return fields;
  }
}

const neverCloses = (where: string): SeekError =>
  new SeekError("ERR_FORMAT", `${where}: a quote opens here and never closes`);

interface CsvRecord {
  readonly fields: readonly string[];
  readonly where: string;
}

async function* readRecords(path: string, separator: string): AsyncGenerator<CsvRecord> {
  let open: { record: string; where: string } | undefined;
  for await (const { texts, first } of readLines(path)) {
    for (const [i, text] of texts.entries()) {
      if (open === undefined && (text === "" || text === "\r")) continue;
      const where: string = open?.where ?? `${path}:${first + i}`;
      const record: string = open === undefined ? text : `${open.record}\n${text}`;
      const fields = fieldsOf(record.replace(/\r$/, ""), separator, where);
      if (fields === undefined && record.length > maxOpenChars) throw neverCloses(where);
      open = fields === undefined ? { record, where } : undefined;
      if (fields !== undefined) yield { fields, where };
    }
  }
  if (open !== undefined) throw neverCloses(open.where);
}

/**
 * The rows of a table whose first line names the columns. A quoted field may hold separators, line feeds and doubled quotes.
 *
 * @param path - the file; gzip too
 * @param separator - a comma or a tab
 * @throws ERR_IO, ERR_FORMAT with file:line when a row has another number of fields than the header
 */
export async function* readCsvRows(path: string, separator: "," | "\t"): AsyncGenerator<JsonRow> {
  let header: readonly string[] | undefined;
  let index = 0;
  for await (const { fields, where } of readRecords(path, separator)) {
    if (header === undefined) {
      header = fields;
      continue;
    }
    if (fields.length !== header.length)
      throw new SeekError("ERR_FORMAT", `${where}: expected ${header.length} fields, got ${fields.length}`);
    const value = Object.fromEntries(header.map((name, i) => [name, fields[i]]));
    yield { value, index, where };
    index += 1;
  }
}

/** Passages: the pieces of text that a search returns. */
import { type JsonRow, readJsonRows, rowError, textColumn, writeJsonLines } from "../data/jsonl.ts";

/** One passage of a corpus. `title` may be empty. */
export interface Passage {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** The corpora of FlashRAG and Search-R1 keep title and text in one column: `"Title"\ntext`. */
function fromContents(row: JsonRow): Pick<Passage, "title" | "text"> {
  const contents = textColumn(row, "contents");
  const end = contents.indexOf("\n");
  if (end < 0) return { title: "", text: contents };
  return { title: contents.slice(0, end).replace(/^"(.*)"$/, "$1"), text: contents.slice(end + 1) };
}

function titleAndText(row: JsonRow): Pick<Passage, "title" | "text"> {
  const { text, contents, title } = row.value;
  if (text !== undefined)
    return { title: title === undefined ? "" : textColumn(row, "title"), text: textColumn(row, "text") };
  if (contents !== undefined) return fromContents(row);
  throw rowError(
    row,
    `column "text" or "contents"`,
    `columns ${Object.keys(row.value).join(", ") || "none"}`,
  );
}

/**
 * Turns one JSON row into a passage: `{id, title, text}`, or `{id, contents}` with the title as the first line. A row
 * without `id` gets its position.
 *
 * @throws ERR_FORMAT naming file, line and column
 */
export function passageFromRow(row: JsonRow): Passage {
  const id = row.value.id === undefined ? String(row.index) : textColumn(row, "id");
  return { id, ...titleAndText(row) };
}

/**
 * Reads passages one by one from a JSON Lines file or from one JSON array.
 *
 * @param path the file; `.json` holds one array, everything else one object per line
 * @returns the passages in file order
 * @throws ERR_IO when the file cannot be read, ERR_FORMAT (with file:line) when a row is not a passage
 * @example
 * for await (const { title, text } of readPassages("passages.jsonl")) console.log(title, text.length);
 */
export async function* readPassages(path: string): AsyncGenerator<Passage> {
  for await (const row of readJsonRows(path)) yield passageFromRow(row);
}

/** Writes passages as JSON Lines, whole or not at all. @throws ERR_IO */
export async function writePassages(
  path: string,
  passages: Iterable<Passage> | AsyncIterable<Passage>,
): Promise<void> {
  await writeJsonLines(path, passages);
}

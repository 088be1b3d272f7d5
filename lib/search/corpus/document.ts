/** Documents: what a corpus is made of before it is cut into passages. */
import { type JsonRow, rowError, textColumn } from "../../data/files/jsonl.ts";

/** One text with its title, which may be empty. A passage is a document that needs no cutting. */
export interface Document {
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

type Content = Pick<Document, "title" | "text">;

/** Drops what KILT's knowledge source writes before list items and headings. */
const withoutMarks = (text: string): string =>
  text.replaceAll("BULLET::::", "").replaceAll("Section::::", "");

const isAbsent = (value: unknown): boolean => value === undefined || value === null;

/** A column that is text, or a list of texts that belong together without anything between. */
function joinedColumn(row: JsonRow, column: string): string {
  const value = row.value[column];
  if (!Array.isArray(value)) return textColumn(row, column);
  if (value.every((part) => typeof part === "string")) return value.join("");
  throw rowError(row, `column "${column}": text or a list of texts`, "a list of other things");
}

/** The corpora of FlashRAG and Search-R1 keep title and text in one column: `"Title"\ntext`. */
function fromContents(row: JsonRow): Content {
  const contents = textColumn(row, "contents");
  const end = contents.indexOf("\n");
  if (end < 0) return { title: "", text: contents };
  return { title: contents.slice(0, end).replace(/^"(.*)"$/, "$1"), text: contents.slice(end + 1) };
}

function contentOf(row: JsonRow): Content {
  const { text, contents, title, wikipedia_title } = row.value;
  if (!isAbsent(wikipedia_title))
    return {
      title: textColumn(row, "wikipedia_title"),
      text: withoutMarks(joinedColumn(row, "text")),
    };
  if (!isAbsent(text))
    return { title: isAbsent(title) ? "" : textColumn(row, "title"), text: joinedColumn(row, "text") };
  if (!isAbsent(contents)) return fromContents(row);
  const columns = Object.keys(row.value).join(", ") || "none";
  throw rowError(row, `column "text" or "contents"`, `columns ${columns}`);
}

function idOf(row: JsonRow): string {
  const { id, _id, wikipedia_id } = row.value;
  const value = [id, _id, wikipedia_id].find((each) => !isAbsent(each));
  if (value === undefined) return String(row.index);
  if (typeof value === "string") return value;
  if (typeof value === "number" || typeof value === "bigint") return String(value);
  throw rowError(row, `column "id": text or a number`, typeof value);
}

/**
 * Turns one row into a document: `{id, title, text}`, `{id, contents}` with the title as the first line, or KILT's
 * `{wikipedia_id, wikipedia_title, text: [...]}`, whose marks of headings and list items are dropped. The id may also
 * be `_id`; a row without one is named by its position.
 *
 * @throws ERR_FORMAT naming file, line and column
 */
export function documentFromRow(row: JsonRow): Document {
  const document = { id: idOf(row), ...contentOf(row) };
  for (const [column, value] of Object.entries(document)) {
    if (!value.isWellFormed()) throw rowError(row, `column "${column}": Unicode`, "half a surrogate pair");
  }
  return document;
}

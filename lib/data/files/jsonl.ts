/** JSON rows from files, one at a time, each knowing where it stands so that an error can say so. */
import { SeekError } from "../../base/errors.ts";
import { parseExactJson } from "../../base/files/exact-json.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { readElements } from "./json-elements.ts";
import { readChunks, readLines } from "./text-file.ts";

/** A JSON object and its place. */
export interface JsonRow {
  readonly value: Readonly<Record<string, unknown>>;
  /** The position among the rows, from 0. */
  readonly index: number;
  /** `file:line` in a JSON Lines file, `file[index]` in an array. */
  readonly where: string;
  /** All that the file has, where fewer were read. @default those of `value` */
  readonly columns?: readonly string[];
}

/** An ERR_FORMAT that names the row's place, what was expected and what stands there. */
export function rowError(row: JsonRow, expected: string, actual: string): SeekError {
  return new SeekError("ERR_FORMAT", `${row.where}: expected ${expected}, got ${actual}`);
}

function kindOf(value: unknown): string {
  if (value === null) return "null";
  return Array.isArray(value) ? "a list" : typeof value;
}

/** A text, or the text of a number, as ids and answers may be; undefined for all else. */
export function writtenText(value: unknown): string | undefined {
  if (typeof value === "string") return value;
  return typeof value === "bigint" || Number.isFinite(value) ? String(value) : undefined;
}

/**
 * The text of one column; an id may be a number.
 *
 * @throws ERR_FORMAT when the column is missing (the message lists those present) or holds something else
 */
export function textColumn(row: JsonRow, column: string): string {
  const value = row.value[column];
  const text = column === "id" || typeof value === "string" ? writtenText(value) : undefined;
  if (text !== undefined) return text;
  if (value !== undefined) throw rowError(row, `column "${column}": text`, kindOf(value));
  const present = row.columns ?? Object.keys(row.value);
  throw rowError(row, `column "${column}"`, `columns ${present.join(", ") || "none"}`);
}

function parse(text: string, where: string): unknown {
  try {
    return parseExactJson(text);
  } catch (cause) {
    const shown = text.length > 80 ? `${text.slice(0, 80)}...` : text;
    throw new SeekError("ERR_FORMAT", `${where}: expected JSON, got ${shown} (${(cause as Error).message})`, {
      cause,
    });
  }
}

/** The JSON object that `text` is. @throws ERR_FORMAT naming `where` */
export function parseRow(text: string, index: number, where: string): JsonRow {
  return objectRow(parse(text, where), index, where);
}

function objectRow(value: unknown, index: number, where: string): JsonRow {
  if (value !== null && typeof value === "object" && !Array.isArray(value)) {
    return { value: value as Record<string, unknown>, index, where };
  }
  throw new SeekError("ERR_FORMAT", `${where}: expected a JSON object, got ${kindOf(value)}`);
}

async function* readRows(path: string): AsyncGenerator<JsonRow> {
  let index = 0;
  for await (const { texts, first } of readLines(path)) {
    for (const [i, text] of texts.entries()) {
      const json = text.trim();
      if (json === "") continue;
      yield parseRow(json, index, `${path}:${first + i}`);
      index += 1;
    }
  }
}

async function* readArray(path: string): AsyncGenerator<JsonRow> {
  for await (const { texts, first, kind } of readElements(path)) {
    if (kind !== "list") throw new SeekError("ERR_FORMAT", `${path}: expected a list, got an object`);
    for (const [i, text] of texts.entries()) yield parseRow(text, first + i, `${path}[${first + i}]`);
  }
}

async function* readMember(path: string, member: string): AsyncGenerator<JsonRow> {
  for await (const { texts } of readElements(path)) {
    for (const text of texts) {
      const list = parseRow(text, 0, path).value[member];
      if (list === undefined) continue;
      if (!Array.isArray(list))
        throw new SeekError("ERR_FORMAT", `${path}: expected "${member}" to be a list`);
      for (const [index, value] of list.entries())
        yield objectRow(value, index, `${path}, ${member}[${index}]`);
    }
  }
}

/** The first letters that are no white space; a byte order mark may stand before them. */
async function beginning(path: string): Promise<string> {
  let begin = "";
  for await (const chunk of readChunks(path)) {
    begin += chunk.toString("latin1");
    begin = begin.replace(/^\xef\xbb\xbf/, "").trimStart();
    if (begin.length >= 64) break;
  }
  return begin;
}

/** How the file of a data set is laid out. */
export interface JsonLayout {
  /** The file may be one object whose first member, of this name, is the list. */
  readonly list?: string | undefined;
}

/**
 * Reads the objects of a JSON Lines file, or those of a file that holds one array, as a stream; the first letter decides.
 * Empty lines are skipped; a byte order mark and CRLF are accepted.
 *
 * @throws ERR_IO when the file cannot be read, ERR_FORMAT (with its place) when a row is no JSON object
 */
export async function* readJsonRows(path: string, { list }: JsonLayout = {}): AsyncGenerator<JsonRow> {
  const begin = await beginning(path);
  if (begin.startsWith("[")) return yield* readArray(path);
  const [, member] = /^\{\s*"(\w+)"\s*:\s*\[/.exec(begin) ?? [];
  yield* list !== undefined && member === list ? readMember(path, list) : readRows(path);
}

/**
 * Writes one JSON object per line, whole or not at all.
 *
 * @throws ERR_IO when the file system refuses
 */
export async function writeJsonLines(
  path: string,
  rows: Iterable<object> | AsyncIterable<object>,
): Promise<void> {
  await writeFileAtomic(path, jsonLines(rows));
}

async function* jsonLines(rows: Iterable<object> | AsyncIterable<object>): AsyncGenerator<string> {
  for await (const row of rows) yield `${JSON.stringify(row)}\n`;
}

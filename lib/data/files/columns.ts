/** Values of the columns of a row, as the formats of data sets need them: lists of texts, nested rows, numbers as ids. */
import { type JsonRow, rowError, textColumn, writtenText } from "./jsonl.ts";

/** Whether the column is there and holds anything. */
export function has(row: JsonRow, column: string): boolean {
  return row.value[column] !== undefined && row.value[column] !== null;
}

/** One text or a list of texts, as a list; a number is one, too. @throws ERR_FORMAT naming the column */
export function textsColumn(row: JsonRow, column: string): readonly string[] {
  const value = row.value[column];
  if (!Array.isArray(value)) return [writtenText(value) ?? textColumn(row, column)];
  const texts = value.map(writtenText).filter((text) => text !== undefined);
  if (texts.length === value.length) return texts;
  throw rowError(row, `column "${column}": text or a list of texts`, shown(value));
}

/** The first of these columns that is there, a text or a whole number, as text. @throws ERR_FORMAT for another kind */
export function idColumn(row: JsonRow, columns: readonly string[]): string | undefined {
  const column = columns.find((name) => has(row, name));
  if (column === undefined) return undefined;
  const value = row.value[column];
  if (typeof value === "bigint" || Number.isInteger(value)) return String(value);
  return textColumn(row, column);
}

/** An object inside of a row, as a row of its own at the same place. @throws ERR_FORMAT when it is none */
export function memberRow(row: JsonRow, column: string): JsonRow {
  const value = row.value[column];
  const where = `${row.where}, ${column}`;
  if (isObject(value)) return { value, index: row.index, where };
  if (value === undefined) textColumn(row, column);
  throw rowError(row, `column "${column}": an object`, shown(value));
}

/** Whether it is an object with members. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A value in an error message, shortened. */
export function shown(value: unknown): string {
  const text =
    JSON.stringify(value, (_, each) => (typeof each === "bigint" ? String(each) : each)) ?? "nothing";
  return text.length > 80 ? `${text.slice(0, 80)}...` : text;
}

/** Tables for people: columns as wide as their widest cell. */

/**
 * A table as text.
 *
 * @param rows - cells, the head first
 * @param isText - columns that begin at the left; the others end at the right
 */
export function tableOf(
  rows: readonly (readonly string[])[],
  isText: (column: number) => boolean = (column) => column === 0,
): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) =>
    row
      .map((cell, c) => (isText(c) ? cell.padEnd(widths[c] ?? 0) : cell.padStart(widths[c] ?? 0)))
      .join("  ")
      .trimEnd(),
  );
  return `${lines.join("\n")}\n`;
}

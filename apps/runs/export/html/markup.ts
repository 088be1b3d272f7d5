/** HTML as text: what was said in a run is shown and never run. */

const entities: Readonly<Record<string, string>> = {
  ...{ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;" },
};

/** Text as HTML shows it, between tags and in attributes. */
export function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}

/** A number for people: whole ones whole, others with four digits that count. */
export function shownNumber(value: number): string {
  if (!Number.isFinite(value)) return String(value);
  if (Number.isInteger(value) && Math.abs(value) < 1e15) return value.toLocaleString("en-US");
  const size = Math.abs(value);
  return size >= 1e6 || size < 1e-4 ? value.toExponential(2) : String(Number(value.toPrecision(4)));
}

/** A table: the head, then rows; cells are HTML already. */
export function tableHtml(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const headCells = head.map((cell) => `<th scope="col">${cell}</th>`).join("");
  const body = rows.map(([first = "", ...others]) => {
    const cells = others.map((cell) => `<td>${cell}</td>`).join("");
    return `<tr><th scope="row">${first}</th>${cells}</tr>`;
  });
  const table = `<table><thead><tr>${headCells}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  return `<div class="wide">${table}</div>`;
}

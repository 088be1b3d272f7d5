/** Unicode's normal forms in a time that is linear in the text: V8 sorts the marks of a character in the square of their number. */

/** Name of a normal form. */
export type NormalForm = "NFC" | "NFD" | "NFKC" | "NFKD";

/** More marks than any writing puts on a character; Unicode's stream-safe texts have 30. */
const manyMarks = /\p{M}{65,}/gu;

/** Marks of the lowest class and of the highest. */
const [lowest, highest] = ["\u0334", "\u0345"];

/** Whether two marks change places in a normal form: the first is of a higher class than the second. */
function isOutOfOrder(first: string, second: string): boolean {
  return first !== second && `${first}${second}`.normalize("NFD") === `${second}${first}`;
}

const isMoved = (mark: string): boolean =>
  isOutOfOrder(mark, lowest) || isOutOfOrder(highest, mark) || mark === lowest || mark === highest;

/** Marks in canonical order, decomposed. */
function ordered(marks: string): string {
  const all = Array.from(marks, (mark) => [...mark.normalize("NFD")]).flat();
  const distinct = [...new Set(all)];
  const sorted = distinct
    .filter(isMoved)
    .sort((a, b) => (isOutOfOrder(a, b) ? 1 : isOutOfOrder(b, a) ? -1 : 0));
  const ranks = new Map<string, number>();
  let rank = 0;
  for (const [i, mark] of sorted.entries()) {
    if (i > 0 && isOutOfOrder(mark, sorted[i - 1] as string)) rank += 1;
    ranks.set(mark, rank);
  }
  const parts: string[] = [];
  let run: string[] = [];
  const flush = (): void => {
    parts.push(run.sort((a, b) => (ranks.get(a) as number) - (ranks.get(b) as number)).join(""));
    run = [];
  };
  for (const mark of all) {
    if (ranks.has(mark)) run.push(mark);
    else {
      // What stays where it is, no mark crosses.
      flush();
      parts.push(mark);
    }
  }
  flush();
  return parts.join("");
}

/** What `text.normalize(form)` gives. */
export function normalized(text: string, form: NormalForm): string {
  return text.replace(manyMarks, ordered).normalize(form);
}

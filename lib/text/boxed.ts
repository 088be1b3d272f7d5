/** The answer inside of LaTeX's `\boxed{...}`. */

/**
 * What the last box of a text holds. `\boxed x$` without braces holds what stands before the next dollar sign, and such
 * a box anywhere is taken first, as in the usual code for mathematical answers.
 *
 * @param text - an answer
 * @returns the content; undefined when there is no box or its braces do not close
 * @example
 * assert.equal(boxedIn("so \\boxed{\\text{Rome}}."), "\\text{Rome}");
 */
export function boxedIn(text: string): string | undefined {
  const spaced = text.lastIndexOf("\\boxed ");
  if (spaced >= 0) return text.slice(spaced + "\\boxed ".length).split("$")[0];
  const box = text.lastIndexOf("\\boxed");
  if (box < 0 || text[box + "\\boxed".length] !== "{") return undefined;
  const start = box + "\\boxed{".length;
  let depth = 1;
  for (let i = start; i < text.length; i += 1) {
    if (text[i] === "{") depth += 1;
    if (text[i] === "}") depth -= 1;
    if (depth === 0) return text.slice(start, i);
  }
  return undefined;
}

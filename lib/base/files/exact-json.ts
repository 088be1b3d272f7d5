/** JSON whose whole numbers stay what they are: a number of JavaScript has 53 bits, and the ids of databases 64. */

/** Digits that may be too many: not those behind a point, of which doubles have as many. */
const manyDigits = /(?:^|[^\d.])\d{16,}(?![\d.eE])/;

/** A text, which is left as it is, or a number. */
const textOrNumber = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

function exact(token: string): string {
  return /^-?\d+$/.test(token) && !Number.isSafeInteger(Number(token)) ? `"${token}"` : token;
}

/**
 * Reads JSON; a whole number beyond 2^53, which would become another one, is read as its text.
 *
 * @throws SyntaxError as `JSON.parse` does
 */
export function parseExactJson(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return manyDigits.test(text) ? JSON.parse(text.replace(textOrNumber, exact)) : value;
}

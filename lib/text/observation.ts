/** How retrieved passages are written into a conversation: one form for demonstrations and for rollouts. */

/** A text and its title, which may be empty: what a model reads of a passage or hit. */
export interface TitledText {
  readonly title: string;
  readonly text: string;
}

/** One query at a time, or several in parallel (RAG-R1). */
export type QueryMode = "single" | "multi";

/**
 * The observation that answers a search: numbered documents between information tags. With one query they
 * stand as they are; with several they stand in a JSON object of queries and documents, as in RAG-R1.
 *
 * @param queries - the queries, in the order asked
 * @param documents - the documents found, one list per query, best first
 * @param mode - `single` writes the first query's documents only
 * @param limit - shortens the documents of one query before anything stands around them
 * @returns text that begins and ends with a newline; the closing tag is never cut
 * @example
 * const text = observationText(["capital of France"], [[{ title: "Paris", text: "a city" }]], "single");
 * assert.equal(text, "\n<information>\nDoc 1: Paris\na city\n</information>\n");
 */
export function observationText(
  queries: readonly string[],
  documents: readonly (readonly TitledText[])[],
  mode: QueryMode,
  limit: (documents: string) => string = (text) => text,
): string {
  const texts = queries.map((_, i) => limit(documentsText(documents[i] ?? [])).trim());
  const body =
    mode === "single" ? (texts[0] ?? "") : JSON.stringify({ query: queries, documents: texts }, null, 2);
  return informationText(body);
}

/**
 * A text without line breaks: a space stands for each, and for the blanks around it. Takes time linear in the text.
 *
 * @example
 * assert.equal(onOneLine("a city \n\n  in Italy"), "a city in Italy");
 */
export function onOneLine(text: string): string {
  const [first = "", ...others] = text.split("\n");
  if (others.length === 0) return text;
  const inside = others.slice(0, -1).map((line) => line.trim());
  const parts = [first.trimEnd(), ...inside.filter((line) => line !== ""), others.at(-1)?.trimStart() ?? ""];
  return parts.join(" ");
}

/**
 * Puts information tags around a text.
 *
 * @example
 * assert.equal(informationText("none"), "\n<information>\nnone\n</information>\n");
 */
export function informationText(body: string): string {
  return `\n<information>\n${body}\n</information>\n`;
}

function documentsText(documents: readonly TitledText[]): string {
  return documents.map(({ title, text }, i) => `Doc ${i + 1}: ${title}\n${text}`).join("\n");
}

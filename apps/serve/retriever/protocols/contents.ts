/** A passage as the one text, `contents`, that the published systems' servers send. */
import type { Passage } from "../../../../lib/search/corpus/passage.ts";

/**
 * `quoted`: the title in quotes, a line break, the text, as in the corpora of Search-R1 and FlashRAG. `spaced`: the
 * title, three spaces, the text, as in the KILT split of RAG-R1 and R1-Searcher.
 */
export type ContentsForm = "quoted" | "spaced";

/**
 * Writes a passage in one of the forms; one without a title is its text alone.
 *
 * @param passage - title and text
 * @param form - how they are joined
 * @returns the one text
 * @example
 * const city = { id: "1", title: "Paris", text: "A city." };
 * assert.equal(contentsOf(city, "quoted"), '"Paris"\nA city.');
 * assert.equal(contentsOf(city, "spaced"), "Paris   A city.");
 */
export function contentsOf({ title, text }: Passage, form: ContentsForm): string {
  if (title === "") return text;
  return form === "quoted" ? `"${title}"\n${text}` : `${title}   ${text}`;
}

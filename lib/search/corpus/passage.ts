/** Passages: the pieces of text that a search returns. */
import type { Document } from "./document.ts";

/** One passage of a corpus. `title` may be empty. */
export type Passage = Document;

/** What is indexed of a passage. */
export function indexedText({ title, text }: Passage): string {
  return `${title}\n${text}`;
}

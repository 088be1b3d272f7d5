/** Passages: the pieces of text that a search returns. */
import type { Document } from "./document.ts";

/** One passage of a corpus. `title` may be empty. */
export type Passage = Document;

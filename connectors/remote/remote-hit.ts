/** Hits from the documents that other systems' servers send. */
import { createHash } from "node:crypto";
import type { z } from "zod";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import type { Hit } from "../../lib/search/search.ts";

/** A document as servers send it: its text, or an object with `contents`, or with `title` and `text`. */
export const documentSchema = lazySchema((z) =>
  z.union([
    z.string(),
    z.looseObject({
      id: z.union([z.string(), z.number()]).optional(),
      title: z.string().optional(),
      contents: z.string(),
    }),
    z.looseObject({
      id: z.union([z.string(), z.number()]).optional(),
      title: z.string().optional(),
      text: z.string(),
    }),
  ]),
);

/** Any of these. */
export type RemoteDocument = z.output<ReturnType<typeof documentSchema>>;

/**
 * Title and text of a passage that servers send as one text. Three forms are in use: `"Title"\ntext` (Search-R1,
 * FlashRAG), `Title\ntext`, and `Title   text` with three spaces (the KILT split of RAG-R1 and R1-Searcher).
 *
 * @param contents - the one text
 * @returns both parts; a text without a title has an empty one
 * @example
 * assert.deepEqual(splitContents('"Paris"\nA city.'), { title: "Paris", text: "A city." });
 * assert.deepEqual(splitContents("Paris   A city."), { title: "Paris", text: "A city." });
 */
export function splitContents(contents: string): { title: string; text: string } {
  const whole = contents.trim();
  const [, line, rest = ""] = /^([^\n]*?)(?:\r?\n| {3})([\s\S]*)$/.exec(whole) ?? [];
  if (line === undefined) return { title: "", text: whole };
  return { title: line.replace(/^"(.*)"$/, "$1"), text: rest };
}

/**
 * A hit from a server's document. A document without an id is named by its text; one without a score is scored by
 * its place, 1, 1/2, 1/3, ...
 *
 * @param document - what the server sent
 * @param rank - its place, from 0
 * @param score - the server's, when it gave one
 */
export function remoteHit(document: RemoteDocument, rank: number, score?: number): Hit {
  const parts = partsOf(document);
  const id = typeof document === "string" ? undefined : document.id;
  return { id: id === undefined ? contentId(parts) : String(id), ...parts, score: score ?? 1 / (rank + 1) };
}

function partsOf(document: RemoteDocument): { title: string; text: string } {
  if (typeof document === "string") return splitContents(document);
  const { title, contents, text } = document as { title?: string; contents?: string; text?: string };
  if (text !== undefined) return { title: title ?? "", text };
  const split = splitContents(contents ?? "");
  return title === undefined || title === split.title ? split : { title, text: contents ?? "" };
}

/** The first 64 bits of SHA-256 over title and text, so that the same passage has the same id everywhere. */
function contentId({ title, text }: { readonly title: string; readonly text: string }): string {
  return createHash("sha256").update(`${title}\n${text}`).digest("hex").slice(0, 16);
}

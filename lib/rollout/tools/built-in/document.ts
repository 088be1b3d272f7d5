/** Documents as a tool: the parts of one that is known by its title or id. */
import { checkOptions } from "../../../base/check-options.ts";
import { zod } from "../../../base/on-first-use.ts";
import type { Passage } from "../../../search/corpus/passage.ts";
import { meaningOf } from "../../../text/analysis/words.ts";
import { type Tool, type ToolOutput, tool } from "../tool.ts";
import { type ToolWording, wordingKinds } from "./calculator.ts";
import type { Library, Shelved } from "./library.ts";

/** What the tool is called, and how much it shows at once. */
export interface DocumentToolOptions extends ToolWording {
  /** Passages of one call. @default 3 */
  readonly maxParts?: number;
}

/** Of a longer document, this many passages are compared with the words that are looked for. */
const maxCompared = 1000;

/**
 * A tool that reads a document: from its beginning, from one of its parts, or the parts about something.
 *
 * @param library - whose documents
 * @param options - `name`, `@default` "document", `description`, `maxParts`
 * @returns a tool with the input `{document, part?, about?}`
 * @example
 * const library = await Library.open("index");
 * const { run } = toolBox([documentTool(library)]);
 * const [{ text }] = await run([{ name: "document", input: "Paris", text: "" }]);
 * assert.equal(text, "Paris, part 1 of 1:\nParis is the capital of France.");
 * library.close();
 */
export function documentTool(library: Library, options: DocumentToolOptions = {}): Tool {
  checkOptions("documentTool", options, { ...wordingKinds, maxParts: "number" });
  const {
    name = "document",
    description = "Reads a document that is known by its title or id: from its beginning, from one of its parts, or the parts about something.",
    maxParts = 3,
  } = options;
  return tool({
    name,
    description,
    input: zod().object({
      document: zod().string().min(1).describe("title or id"),
      part: zod().int().min(1).optional().describe("the part to begin with"),
      about: zod().string().optional().describe("some words: shows the parts that have the most of them"),
    }),
    run: async ({ document: asked, part, about }) => {
      const found = await library.find(asked);
      if (found === undefined) return `There is no document "${asked}".`;
      const first = (part ?? found.at + 1) - 1;
      const { numPassages } = found;
      if (first >= numPassages) return `${found.title} has ${numPassages} parts, and no part ${part}.`;
      const isAbout = about !== undefined && about.trim() !== "";
      const parts = isAbout
        ? await partsAbout(found, about, maxParts)
        : (await found.read(first, maxParts)).map((passage, i) => ({ number: first + i + 1, passage }));
      return written(found, parts);
    },
  });
}

interface Part {
  /** From 1. */
  readonly number: number;
  readonly passage: Passage;
}

async function partsAbout(document: Shelved, about: string, maxParts: number): Promise<Part[]> {
  const wanted = new Set(meaningOf(about).terms);
  const passages = await document.read(0, maxCompared);
  const parts = passages.map((passage, i) => ({ number: i + 1, passage }));
  const shared = passages.map(({ text }) => {
    const terms = new Set(meaningOf(text).terms);
    return [...wanted].filter((term) => terms.has(term)).length;
  });
  return parts
    .filter((_, i) => (shared[i] ?? 0) > 0)
    .sort((a, b) => (shared[b.number - 1] ?? 0) - (shared[a.number - 1] ?? 0) || a.number - b.number)
    .slice(0, maxParts)
    .sort((a, b) => a.number - b.number);
}

function written({ title, numPassages }: Shelved, parts: readonly Part[]): ToolOutput {
  if (parts.length === 0) return { text: `No part of ${title} has any of these words.` };
  const texts = parts.map(
    ({ number, passage }) => `${title}, part ${number} of ${numPassages}:\n${passage.text}`,
  );
  return { text: texts.join("\n\n"), documents: parts.map(({ passage }) => passage) };
}

/** What messages hold, as one text. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";

/** A text, or parts of which all must be texts; others are refused by name, since no served model reads them. */
export const contentField = lazySchema((z) =>
  z.union([z.string(), listField(z.looseObject({ type: z.string() }))]),
);

/** What {@link contentField} reads. */
export type Content = z.output<ReturnType<typeof contentField>>;

/** Types of parts that are texts, in the protocols that are served. */
const textTypes: ReadonlySet<string> = new Set(["text", "input_text", "output_text"]);

/**
 * The text of a message.
 *
 * @param content - a text or its parts
 * @param path - where it stands, for the message
 * @throws Refusal for a part that is no text
 */
export function textOf(content: Content, path: readonly (string | number)[]): string {
  if (typeof content === "string") return content;
  return content
    .map((part, i) => {
      if (textTypes.has(part.type)) {
        if (typeof part.text === "string") return part.text;
        throw refused([...path, i, "text"], "expected a string");
      }
      // A refusal is what was said, too.
      if (part.type === "refusal" && typeof part.refusal === "string") return part.refusal;
      const name = part.type.slice(0, 100);
      const what = /image/.test(name) ? "images are not read by this model" : "this model reads texts";
      throw refused([...path, i, "type"], `expected text, got ${name}: ${what}`);
    })
    .join("");
}

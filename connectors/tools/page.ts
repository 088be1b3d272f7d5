/** Pages of the web as a tool. */

import { checkOptions } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { zod } from "../../lib/base/on-first-use.ts";
import { type ToolWording, wordingKinds } from "../../lib/rollout/tools/built-in/calculator.ts";
import { type Tool, tool } from "../../lib/rollout/tools/tool.ts";
import type { ReadPages } from "../web/page-reader.ts";

/** What the tool is called, and how much of a page it shows at once. */
export interface PageToolOptions extends ToolWording {
  /** Characters of one part of a page. @default 4_000 */
  readonly partChars?: number;
}

/**
 * A tool that reads a page of the web, part by part.
 *
 * @param read - of `pageReader`, which keeps to robots.txt and away from private networks
 * @param options - `name`, `@default` "read_page", `description`, size of a part
 * @returns a tool with the input `{url, part?}`
 * @example
 * const { run } = toolBox([pageTool(pageReader({ allowPrivate: true, robots: false }))]);
 * const [{ text }] = await run([{ name: "read_page", input: { url: pageUrl }, text: "" }]);
 * assert.match(text, /^Paris, part 1 of 1:\n/);
 */
export function pageTool(read: ReadPages, options: PageToolOptions = {}): Tool {
  checkOptions("pageTool", options, { ...wordingKinds, partChars: "number" });
  const { name = "read_page", description = "Reads a page of the web as text.", partChars = 4_000 } = options;
  return tool({
    name,
    description,
    input: zod().object({
      url: zod().string().min(1).describe("address of the page"),
      part: zod().int().min(1).default(1).describe("which part of a long page"),
    }),
    run: async ({ url, part }, { signal }) => {
      const [page] = await read([url], { signal });
      if (page === undefined || "failure" in page) {
        throw new SeekError("ERR_REMOTE", page?.failure ?? `${url}: not read`);
      }
      const parts = partsOf(page.text, partChars);
      const text = parts[part - 1];
      const title = page.title || url;
      if (text === undefined) return `${title} has ${parts.length} parts, and no part ${part}.`;
      return { text: `${title}, part ${part} of ${parts.length}:\n${text}`, documents: [{ title, text }] };
    },
  });
}

/** Cut at the last end of a line, or else the last space, of the second half of a part. */
function partsOf(text: string, maxChars: number): string[] {
  const parts: string[] = [];
  for (let start = 0; start < text.length; ) {
    const whole = text.slice(start, start + maxChars);
    const isLast = start + maxChars >= text.length;
    const breaks = ["\n", " "].map((mark) => whole.lastIndexOf(mark)).filter((at) => at > maxChars / 2);
    const end = isLast ? whole.length : (breaks[0] ?? maxChars - 1) + 1;
    parts.push(whole.slice(0, end).trim());
    start += end;
  }
  return parts.length > 0 ? parts : [""];
}

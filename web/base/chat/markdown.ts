/** The little of Markdown that models write: paragraphs, lists, headings, code, emphasis, and marks of citations. */

/** A piece of a line. */
export type Inline =
  | { readonly kind: "text" | "code" | "strong" | "emphasis"; readonly text: string }
  | { readonly kind: "citation"; readonly number: number };

/** A block of lines. */
export type Block =
  | { readonly kind: "paragraph"; readonly lines: readonly Inline[] }
  | { readonly kind: "heading"; readonly level: number; readonly lines: readonly Inline[] }
  | { readonly kind: "list"; readonly isOrdered: boolean; readonly items: readonly (readonly Inline[])[] }
  | { readonly kind: "code"; readonly language: string; readonly text: string };

/** Stand around a citation's number; they are of no script. */
const [markStart, markEnd] = ["\uE000", "\uE001"];

/**
 * Puts numbers behind what is cited.
 *
 * @param text - what is said
 * @param citations - with their ends in UTF-16 units of the text
 * @returns the text with marks that {@link parseMarkdown} reads
 */
export function withMarks(text: string, citations: readonly { readonly end: number }[]): string {
  const marks = citations
    .map(({ end }, i) => ({ end: Math.min(end, text.length), mark: `${markStart}${i}${markEnd}` }))
    .sort((a, b) => a.end - b.end);
  let [marked, from] = ["", 0];
  for (const { end, mark } of marks) {
    marked += text.slice(from, end) + mark;
    from = end;
  }
  return marked + text.slice(from);
}

const inlinePattern = /`([^`\n]+)`|\*\*([^*\n]+)\*\*|\*([^*\s][^*\n]*)\*|\uE000(\d+)\uE001/g;

/** The pieces of a line. */
export function parseInline(text: string): Inline[] {
  const pieces: Inline[] = [];
  let from = 0;
  for (const match of text.matchAll(inlinePattern)) {
    const [whole, code, strong, emphasis, number] = match;
    if (match.index > from) pieces.push({ kind: "text", text: text.slice(from, match.index) });
    if (code !== undefined) pieces.push({ kind: "code", text: code });
    else if (strong !== undefined) pieces.push({ kind: "strong", text: strong });
    else if (emphasis !== undefined) pieces.push({ kind: "emphasis", text: emphasis });
    else pieces.push({ kind: "citation", number: Number(number) });
    from = match.index + whole.length;
  }
  if (from < text.length) pieces.push({ kind: "text", text: text.slice(from) });
  return pieces;
}

const itemPattern = /^\s*(?:([-*])|(\d+)[.)])\s+(.*)$/;

function blockOf(lines: readonly string[]): Block {
  const [first = ""] = lines;
  const [, hashes, title = ""] = /^(#{1,6})\s+(.*)$/.exec(first) ?? [];
  if (hashes !== undefined && lines.length === 1)
    return { kind: "heading", level: hashes.length, lines: parseInline(title) };
  const items = lines.map((line) => itemPattern.exec(line));
  if (items.every((item) => item !== null)) {
    const isOrdered = items[0]?.[2] !== undefined;
    return { kind: "list", isOrdered, items: items.map((item) => parseInline(item[3] ?? "")) };
  }
  return { kind: "paragraph", lines: parseInline(lines.join("\n")) };
}

function kindOf(line: string): "blank" | "heading" | "bullet" | "number" | "text" {
  if (line.trim() === "") return "blank";
  if (/^#{1,6}\s/.test(line)) return "heading";
  const item = itemPattern.exec(line);
  return item === null ? "text" : item[1] === undefined ? "number" : "bullet";
}

/** Lines in groups: a heading alone, items of a list together, all else up to the next of these. */
function groupsOf(text: string): string[][] {
  const groups: string[][] = [];
  let last = "";
  for (const line of text.split("\n")) {
    const kind = kindOf(line);
    if (kind !== "blank" && kind === last && kind !== "heading") groups.at(-1)?.push(line);
    else if (kind !== "blank") groups.push([line]);
    last = kind;
  }
  return groups;
}

/** The blocks of a text; a fence that is not closed yet goes to the end. */
export function parseMarkdown(text: string): Block[] {
  const blocks: Block[] = [];
  const parts = text.split(/^```(.*)$/m);
  for (let i = 0; i < parts.length; i += 2) {
    // Every second fence closes what the one before it opened.
    const isCode = (i / 2) % 2 === 1;
    const body = parts[i] ?? "";
    if (!isCode) blocks.push(...groupsOf(body).map(blockOf));
    else
      blocks.push({
        kind: "code",
        language: (parts[i - 1] ?? "").trim(),
        text: body.replace(/^\n|\n$/g, ""),
      });
  }
  return blocks;
}

/** The text of a web page without its menus, by the reader view of Firefox. */

import { SeekError } from "../../lib/base/errors.ts";
import { lazyPackage } from "../../lib/base/on-first-use.ts";
import type { TitledText } from "../../lib/text/observation.ts";

const readability = lazyPackage<typeof import("@mozilla/readability")>("@mozilla/readability");
const linkedom = lazyPackage<typeof import("linkedom")>("linkedom");

/** Elements that begin and end a line. */
const blocks = new Set([
  ...[
    "ADDRESS",
    "ARTICLE",
    "ASIDE",
    "BLOCKQUOTE",
    "BR",
    "CAPTION",
    "DD",
    "DIV",
    "DL",
    "DT",
    "FIGCAPTION",
    "FIGURE",
  ],
  ...[
    "FOOTER",
    "H1",
    "H2",
    "H3",
    "H4",
    "H5",
    "H6",
    "HEADER",
    "HR",
    "LI",
    "MAIN",
    "OL",
    "P",
    "PRE",
    "SECTION",
  ],
  ...["TABLE", "TR", "UL"],
]);
const cells = new Set(["TD", "TH"]);
const silent = new Set(["HEAD", "TITLE", "SCRIPT", "STYLE", "NOSCRIPT", "TEMPLATE"]);

/** Deeper pages are not written for readers, and finding an article in them takes minutes. */
const maxDepth = 512;
/** Of more elements the article is not looked for. */
const maxElements = 30_000;

/** The part of a DOM that is walked; the compiler knows no browser here. */
interface DomNode {
  readonly nodeName: string;
  readonly textContent: string | null;
  readonly childNodes: Iterable<DomNode>;
}

/**
 * The article of a page: what a reader came for, without navigation, advertisements and scripts; all of the page's
 * text where no article is found, or the page has more than 30,000 elements.
 *
 * @param html - the page
 * @returns title and text
 * @throws ERR_FORMAT for elements that are nested deeper than 512
 * @example
 * const { title, text } = pageText("<title>Paris</title><p>A city.</p><p>In France.</p>");
 * assert.deepEqual({ title, text }, { title: "Paris", text: "A city.\nIn France." });
 */
export function pageText(html: string): TitledText {
  const document = parseDocument(html);
  const whole = textOf(document.body);
  const fallbackTitle = (document.querySelector("title")?.textContent ?? "").trim();
  const isLong = document.querySelectorAll("*").length > maxElements;
  const article = isLong
    ? undefined
    : new (readability().Readability)(document as never, { charThreshold: 200 }).parse();
  const title = (article?.title ?? "").trim() || fallbackTitle;
  const text = article?.content ? textOf(parseDocument(article.content).body) : "";
  return { title, text: text || whole };
}

/** The text of a piece of HTML, on one line: `a <b>bold</b> word &amp; more`. */
export function plainText(html: string): string {
  return textOf(parseDocument(html).body).replace(/\s+/g, " ").trim();
}

interface Dom {
  readonly body: DomNode;
  querySelector(selector: string): DomNode | null;
  querySelectorAll(selector: string): { readonly length: number };
}

function parseDocument(html: string): Dom {
  // A fragment without a body would lose its first element.
  const whole = /<(html|body)[\s>]/i.test(html) ? html : `<!doctype html><html><body>${html}</body></html>`;
  return linkedom().parseHTML(whole).document as unknown as Dom;
}

function textOf(root: DomNode): string {
  const parts: string[] = [];
  walk(root, parts, 0);
  return parts
    .join("")
    .split("\n")
    .map((line) => line.replace(/[^\S\n]+/g, " ").trim())
    .filter((line) => line !== "")
    .join("\n");
}

function walk(node: DomNode, parts: string[], depth: number): void {
  if (depth > maxDepth) {
    throw new SeekError("ERR_FORMAT", `page: expected elements nested ${maxDepth} deep at most, got more`);
  }
  if (node.nodeName === "#text") {
    parts.push((node.textContent ?? "").replace(/\s+/g, " "));
    return;
  }
  if (silent.has(node.nodeName)) return;
  const edge = blocks.has(node.nodeName) ? "\n" : cells.has(node.nodeName) ? " " : "";
  parts.push(edge);
  for (const child of node.childNodes) walk(child, parts, depth + 1);
  parts.push(edge);
}

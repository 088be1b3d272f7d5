/** The code blocks of the pages that a reader meets, and the calls in those of them that are for a shell. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../project.ts";

/** A fenced piece of a page. */
export interface CodeBlock {
  /** Of the page, from the project's root. */
  readonly file: string;
  /** What stands behind the fence; empty where nothing does. */
  readonly language: string;
  readonly text: string;
}

/** One call of a shell. */
export interface ShellCall {
  /** Program and arguments, without variables before them and comments behind. */
  readonly words: readonly string[];
  readonly line: string;
}

const pages = [
  ...["README.md", "CONTRIBUTING.md", "starter/README.md"],
  ...readdirSync(join(projectRoot, "docs"), { recursive: true, encoding: "utf8" })
    .filter((name) => name.endsWith(".md"))
    .map((name) => `docs/${name}`),
];

/** Every block, page by page. */
export function codeBlocks(): CodeBlock[] {
  return pages.flatMap((file) => {
    const text = readFileSync(join(projectRoot, file), "utf8");
    const found = [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)];
    return found.map(([, language = "", code = ""]) => ({ file, language, text: code }));
  });
}

/** Words as bash reads them: bare, quoted, `$'...'` with escapes; without variables that are set before them. */
export function wordsOf(line: string): string[] {
  const call = line.replace(/^(?:[A-Z_]+=(?:"[^"]*"|\S*) +)+/, "");
  return [...call.matchAll(/\$'([^']*)'|'([^']*)'|"([^"]*)"|\S+/g)].map(
    ([whole, escaped, single, double]) => escaped?.replaceAll("\\n", "\n") ?? single ?? double ?? whole,
  );
}

/** A text in which a call of several lines stands on one. */
export function withCallsJoined(text: string): string {
  return text.replaceAll(/ \\\n\s*/g, " ");
}

/** The calls of a block, lines that go on put together; what a quote holds together may have lines. */
export function shellCalls({ text }: Pick<CodeBlock, "text">): ShellCall[] {
  const plain = withCallsJoined(text).replaceAll(/(?:^| +)# .*$/gm, "");
  const lines = plain.match(/(?:'[^']*'|"[^"\n]*"|[^\n'"])+/g) ?? [];
  return lines.filter((line) => line.trim() !== "").map((line) => ({ line, words: wordsOf(line) }));
}

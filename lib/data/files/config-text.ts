/** The values of a JSON or YAML text that people write, or that came from elsewhere: bounded in size and depth. */
import { parse } from "yaml";

/** A file of options has hundreds of characters; the parser takes time that grows with the square of some. */
const maxCharacters = 1 << 20;

/** Levels within levels; the parser recurses, and beyond a few hundred the process would end. */
const maxDepth = 64;

/**
 * The value of a JSON or YAML text.
 *
 * @param text - the whole file
 * @param path - its ending says which of the two it is
 * @throws Error with one line that says what is wrong
 */
export function parseConfigText(text: string, path: string): unknown {
  if (text.length > maxCharacters) {
    throw new Error(`expected at most ${maxCharacters} characters, got ${text.length}`);
  }
  try {
    if (path.endsWith(".json")) return JSON.parse(text);
    requireShallow(text);
    return parse(text);
  } catch (cause) {
    // The parser draws the place below its first line.
    const [first = ""] = (cause as Error).message.split("\n");
    throw new Error(first.replace(/:$/, ""), { cause });
  }
}

/** Counts what opens a level: indentation, marks of lists at the beginning of a line, brackets. */
function requireShallow(yaml: string): void {
  const indents: number[] = [];
  let brackets = 0;
  for (const line of yaml.split(/\r?\n/)) {
    const indent = line.length - line.trimStart().length;
    while (indents.length > 0 && (indents.at(-1) ?? 0) >= indent) indents.pop();
    indents.push(indent);
    const marks = (/^\s*((?:[-?:][ \t]+)*)/.exec(line)?.[1] ?? "").replace(/\s/g, "").length;
    for (const character of line) {
      if (character === "[" || character === "{") brackets += 1;
      else if (character === "]" || character === "}") brackets = Math.max(0, brackets - 1);
      if (indents.length + marks + brackets > maxDepth)
        throw new Error(`expected at most ${maxDepth} levels, got more`);
    }
  }
}

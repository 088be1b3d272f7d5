/** Files that people write: JSON or YAML, bounded in size and depth. */
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { parse } from "yaml";
import { nearestWord } from "../../lib/base/spelling.ts";
import { UsageError } from "./command.ts";

/** A file of options has hundreds of characters; the parser takes time that grows with the square of some. */
const maxCharacters = 1 << 20;

/** Levels within levels; the parser recurses, and beyond a few hundred the process would end. */
const maxDepth = 64;

/**
 * The text of a file of options.
 *
 * @param path - as it was given by `--config`
 * @throws UsageError that says what to do, with the file that was probably meant
 */
export async function readConfigText(path: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    const [what, remedy] =
      code === "ENOENT"
        ? ["no such file", await remedyFor(path)]
        : code === "EISDIR"
          ? ["a folder, expected a file", `of a run it is ${join(path, "config.yaml")}`]
          : [`cannot be read: ${message}`, "a file that this user may read"];
    throw new UsageError(`--config ${path}: ${what}. Remedy: ${remedy}`, { cause });
  }
}

/** What to name in place of a file that is not there. */
async function remedyFor(path: string): Promise<string> {
  const folder = dirname(path);
  const names = await readdir(folder).catch((): string[] => []);
  const meant = nearestWord(
    basename(path),
    names.filter((name) => /\.(ya?ml|json)$/.test(name)),
  );
  if (meant !== undefined) return `did you mean ${join(folder, meant)}?`;
  return `a YAML or JSON file whose keys are the command's options, or the options as flags; paths begin at ${process.cwd()}`;
}

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

/** Which route a request's path leads to. */

/**
 * The parts of a route's path: words as they stand, `:name` for one part of any text, a last `*` for all the rest, and a last
 * `:name*` for all the rest as one name, whose slashes may be written in either way.
 */
type Pattern = readonly string[];

/** What the open parts of a route's path stand for, decoded. */
export type PathParams = Readonly<Record<string, string>>;

const partsOf = (path: string): string[] => path.slice(1).split("/");

/** The part as text; undefined for a malformed one, and for one that would be several. */
function decoded(part: string): string | undefined {
  try {
    const text = decodeURIComponent(part);
    return /[/\\\0]/.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}

/** A part of a name; empty for a malformed one. It is looked up in a list, and never a path of files. */
function decodedName(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return "";
  }
}

/** What a word of a pattern stands for, of the parts from its place on; undefined where they do not fit. */
function meaningOf(word: string, parts: readonly string[]): string | undefined {
  const [first = ""] = parts;
  if (word === "*") {
    const rest = parts.map(decoded);
    return rest.includes(undefined) ? undefined : rest.join("/");
  }
  if (!word.startsWith(":")) return word === first ? first : undefined;
  return (word.endsWith("*") ? parts.map(decodedName).join("/") : decoded(first)) || undefined;
}

/**
 * Compares a request's path with a route's.
 *
 * @param pattern - of the route, such as `/v1/responses/:id` or `/studio/*`
 * @param path - of the request, without its query
 * @returns what the pattern's open parts stand for; undefined where the path is another
 */
export function matchPath(pattern: string, path: string): PathParams | undefined {
  if (pattern === path) return {};
  const wanted: Pattern = partsOf(pattern);
  const given = partsOf(path);
  const isPrefix = wanted.at(-1)?.endsWith("*") ?? false;
  if (isPrefix ? given.length < wanted.length : given.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, word] of wanted.entries()) {
    const value = meaningOf(word, given.slice(i));
    if (value === undefined) return undefined;
    if (word === "*") params["*"] = value;
    else if (word.startsWith(":")) params[word.slice(1).replace("*", "")] = value;
  }
  return params;
}

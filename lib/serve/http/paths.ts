/** Which route a request's path leads to. */

/** The parts of a route's path: words as they stand, `:name` for one part of any text, a last `*` for all the rest. */
type Pattern = readonly string[];

/** What the parts `:name` and `*` of a route's path stand for, decoded. */
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
  const isPrefix = wanted.at(-1) === "*";
  if (isPrefix ? given.length < wanted.length : given.length !== wanted.length) return undefined;
  const params: Record<string, string> = {};
  for (const [i, word] of wanted.entries()) {
    const rest = word === "*" ? given.slice(i).map(decoded) : [decoded(given[i] as string)];
    if (rest.includes(undefined)) return undefined;
    if (word === "*") params["*"] = rest.join("/");
    else if (word.startsWith(":") && rest[0] !== "") params[word.slice(1)] = rest[0] as string;
    else if (word !== given[i]) return undefined;
  }
  return params;
}

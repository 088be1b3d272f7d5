/** The Robots Exclusion Protocol (RFC 9309): what a site lets programs fetch. */

interface Rule {
  readonly allow: boolean;
  readonly path: string;
}

/** One record of a robots.txt: for whom, and what. */
interface Group {
  readonly agents: string[];
  readonly rules: Rule[];
}

/** What a robots.txt says. */
export interface Robots {
  /** @param path path and query of an address */
  allows(path: string): boolean;
}

/** Everything may be fetched: there is no robots.txt. */
export const allowAll: Robots = { allows: () => true };

/** Nothing may be fetched: the site could not say (RFC 9309, 2.3.1.4). */
export const allowNone: Robots = { allows: () => false };

/**
 * Reads a robots.txt. The groups of the agent's name count, for agents without one those of `*`; of the rules that
 * match, the longest path, and allow before disallow. `*` and a final `$` in paths are heeded.
 *
 * @param text - the file, of which the first 500 KiB count
 * @param agent - the product's name, such as `SeekRL`
 * @example
 * const robots = parseRobots("User-agent: *\nDisallow: /private\nAllow: /private/open", "SeekRL");
 * assert.deepEqual(["/a", "/private", "/private/open"].map(robots.allows), [true, false, true]);
 */
export function parseRobots(text: string, agent: string): Robots {
  const groups = groupsOf(text.slice(0, 500 * 1024));
  const named = groups.filter(({ agents }) => agents.includes(agent.toLowerCase()));
  const chosen = named.length > 0 ? named : groups.filter(({ agents }) => agents.includes("*"));
  const rules = chosen
    .flatMap((group) => group.rules)
    .map(({ allow, path }) => ({ allow, path, match: matcher(path) }));
  return {
    allows: (path) => {
      if (path === "/robots.txt") return true;
      const matching = rules.filter(({ match }) => match(path));
      const length = Math.max(0, ...matching.map((rule) => rule.path.length));
      const longest = matching.filter((rule) => rule.path.length === length);
      return longest.length === 0 || longest.some(({ allow }) => allow);
    },
  };
}

function groupsOf(text: string): Group[] {
  const groups: Group[] = [];
  let current: Group | undefined;
  for (const line of text.split(/\r\n|\r|\n/)) {
    const [, key = "", value = ""] = /^\s*([\w-]+)\s*:\s*([^#]*?)\s*(?:#.*)?$/.exec(line) ?? [];
    const field = key.toLowerCase();
    if (field === "user-agent") {
      // Names that follow one another share the rules below them.
      if (current === undefined || current.rules.length > 0) {
        current = { agents: [], rules: [] };
        groups.push(current);
      }
      current.agents.push(/^(\*|[a-z_-]*)/i.exec(value)?.[0].toLowerCase() ?? "");
    }
    const isRule = field === "allow" || field === "disallow";
    if (isRule && value !== "") current?.rules.push({ allow: field === "allow", path: value });
    // "Disallow:" alone allows everything, and ends the list of names like any rule.
    if (isRule && value === "") current?.rules.push({ allow: true, path: "" });
  }
  return groups;
}

/** Pieces between stars, found one after the other: no expression that a file could make slow. */
function matcher(rule: string): (path: string) => boolean {
  const isWhole = rule.endsWith("$");
  const pieces = normal(isWhole ? rule.slice(0, -1) : rule).split("*");
  return (given) => {
    const path = normal(given);
    const [first = "", ...rest] = pieces;
    if (!path.startsWith(first)) return false;
    let at = first.length;
    for (const [i, piece] of rest.entries()) {
      const isLast = i === rest.length - 1;
      const found = isWhole && isLast ? Math.max(at, path.length - piece.length) : path.indexOf(piece, at);
      if (found < 0 || !path.startsWith(piece, found)) return false;
      at = found + piece.length;
    }
    return !isWhole || at === path.length;
  };
}

/** Percent-encoded or not, a path is the same path. */
function normal(path: string): string {
  try {
    return decodeURI(path);
  } catch {
    return path;
  }
}

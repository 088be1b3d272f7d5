/** What the page shows, as its address: `#/trajectories/run-1?stop=answer`. */

/** A panel, what of it is open, and how it is looked at. */
export interface Route {
  readonly panel: string;
  /** What stands between the slashes after the panel. */
  readonly path: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** @param hash - of an address, with or without `#` */
export function readRoute(hash: string): Route {
  const [place = "", search = ""] = hash.replace(/^#?\/?/, "").split(/\?(.*)/s);
  const [panel = "", ...path] = place
    .split("/")
    .filter((each) => each !== "")
    .map(decoded);
  return { panel, path, query: Object.fromEntries(new URLSearchParams(search)) };
}

/** The hash of a route; keys with empty values are left out. */
export function writeRoute({ panel, path = [], query = {} }: Partial<Route> & Pick<Route, "panel">): string {
  const kept = Object.entries(query).filter(([, value]) => value !== "");
  const search = kept.length === 0 ? "" : `?${new URLSearchParams(kept)}`;
  return `#/${[panel, ...path].map(encodeURIComponent).join("/")}${search}`;
}

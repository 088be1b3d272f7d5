/** What every panel may ask: where the page is, its theme, what the server can do. */
import { createContext } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";
import type { Studio } from "../../apps/studio/api.ts";
import type { Theme } from "../base/colour/token-colour.ts";
import { type Route, readRoute, writeRoute } from "../base/route.ts";
import { useSettled } from "../parts/resource.ts";
import type { ThemeChoice } from "./theme.ts";

/** The page's surroundings. */
export interface Page {
  readonly route: Route;
  readonly theme: Theme;
  readonly choose: (choice: ThemeChoice) => void;
  readonly studio: Studio;
}

/** Given by the shell. */
export const PageContext = createContext<Page | undefined>(undefined);

/** The surroundings of a panel. */
export function usePage(): Page {
  const page = useContext(PageContext);
  if (page === undefined) throw new Error("a panel outside of the shell");
  return page;
}

/** The address as a route, now and whenever it changes. */
export function useRoute(): Route {
  const [route, setRoute] = useState(() => readRoute(location.hash));
  useEffect(() => {
    const follow = (): void => setRoute(readRoute(location.hash));
    addEventListener("hashchange", follow);
    return () => removeEventListener("hashchange", follow);
  }, []);
  return route;
}

/** Goes to a route; `replace` leaves no step to go back to. */
export function go(route: Partial<Route> & Pick<Route, "panel">, { replace = false } = {}): void {
  const hash = writeRoute(route);
  if (hash === location.hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, "", hash);
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Changes keys of the query of where the page is; empty values take keys away. */
export function useQuery(): [
  Route["query"],
  (changes: Readonly<Record<string, string>>, how?: { replace?: boolean }) => void,
] {
  const { route } = usePage();
  const change = useCallback((changes: Readonly<Record<string, string>>, { replace = true } = {}) => {
    const now = readRoute(location.hash);
    go({ ...now, query: { ...now.query, ...changes } }, { replace });
  }, []);
  return [route.query, change];
}

/** The words that are looked for: what is typed, which the address has too once it has stood still. */
export function useQueryText(): [string, (text: string) => void] {
  const [query, change] = useQuery();
  const [text, setText] = useState(query.text ?? "");
  const settled = useSettled(text);
  useEffect(() => change({ text: settled }), [settled, change]);
  return [text, setText];
}

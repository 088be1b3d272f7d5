/** Looks for what a reader of built pages would miss: links and anchors that lead nowhere, and requests that leave the site. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { unescapeHtml } from "../scripts/setup/html.mjs";

/** What each page of a folder of HTML says of links, and where they may lead. */
function readPages(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith(".html"));
  return new Map(names.map((name) => [name, readPage(readFileSync(join(folder, name), "utf8"))]));
}

function readPage(html) {
  const ids = new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => unescapeHtml(id)));
  const links = [...html.matchAll(/<a\s[^>]*?href="([^"]*)"/g)].map(([, href]) => unescapeHtml(href));
  const loads = [...html.matchAll(/<(?:link|script|img|iframe|source)\s[^>]*?(?:href|src)="([^"]*)"/g)];
  return { ids, links, loads: loads.map(([, url]) => unescapeHtml(url)) };
}

const isElsewhere = (url) => /^(?:[a-z]+:)?\/\//i.test(url) || /^(?:mailto|data):/.test(url);

/** The page and anchor of a link of a page; undefined for one that leaves the site's folder on its server. */
function placeOf(page, url, base) {
  const [path, anchor = ""] = url.split("#", 2);
  const { pathname } = new URL(path, `http://site${base}${page}`);
  if (!pathname.startsWith(base)) return undefined;
  const target = pathname.slice(base.length);
  const file = /(?:^|\/)$/.test(target) ? `${target}index.html` : target;
  return { file: decodeURIComponent(file), anchor: decodeURIComponent(anchor) };
}

function findDead({ folder, pages, base }, page) {
  return pages.get(page).links.filter((url) => {
    if (isElsewhere(url)) return false;
    const { file, anchor } = placeOf(page, url, base) ?? {};
    if (file === undefined) return true;
    const target = pages.get(file);
    if (!target) return !existsSync(join(folder, file));
    return anchor !== "" && !target.ids.has(anchor);
  });
}

/** One line for each fault of the pages of a folder, which stands at `base` on its server. */
export function findFaults(folder, base = "/") {
  const pages = readPages(folder);
  const ofPage = (page) => [
    ...findDead({ folder, pages, base }, page).map((url) => `${page}: nothing is at ${url}`),
    ...pages.get(page).loads.flatMap((url) => {
      if (/^data:/.test(url)) return [];
      if (isElsewhere(url)) return [`${page}: loads ${url} from elsewhere`];
      const place = placeOf(page, url, base);
      return place && existsSync(join(folder, place.file)) ? [] : [`${page}: ${url} is missing`];
    }),
  ];
  const styles = readdirSync(folder, { recursive: true })
    .filter((name) => name.endsWith(".css"))
    .filter((name) =>
      /(?:url\(|@import\s*)["']?(?:https?:)?\/\//.test(readFileSync(join(folder, name), "utf8")),
    )
    .map((name) => `${name}: loads something from elsewhere`);
  return [...[...pages.keys()].flatMap(ofPage), ...styles];
}

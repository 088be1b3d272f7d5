/** Reads pages of the web as text: robots.txt obeyed, addresses and sizes checked, each page cached for a while. */
import type { z } from "zod";
import { checkArgument, checkOptions, type OptionKinds, optionsOf } from "../../lib/base/check-options.ts";
import { messageOf, SeekError, throwIfAborted } from "../../lib/base/errors.ts";
import { lazySchema } from "../../lib/base/on-first-use.ts";
import { askSearch, type Search } from "../../lib/search/search.ts";
import { throughProxy } from "../remote/network/proxy.ts";
import { DiskCache, type DiskCacheOptions, diskCacheKind } from "./disk-cache.ts";
import { type Download, type DownloadLimits, download } from "./download.ts";
import { type HostLimits, HostQueue } from "./host-queue.ts";
import { allowAll, allowNone, parseRobots, type Robots } from "./robots.ts";
import { TextExtractor } from "./text-extractor.ts";

/** How pages are read. */
export interface PageReaderOptions {
  /** Keeps pages on disk. @default none is kept */
  readonly cache?: DiskCacheOptions;
  /** Characters of a page that are kept. @default 35_000, as R1-Searcher's online search */
  readonly maxChars?: number;
  readonly download?: DownloadLimits;
  readonly hosts?: HostLimits;
  /** Heeds robots.txt. @default true */
  readonly robots?: boolean;
  /**
   * Pages of private networks too: of all, or of these hosts (`wiki.local:8080`). Without it names that lead there are refused, but
   * behind a proxy, which resolves names, addresses in numbers alone. @default false
   */
  readonly allowPrivate?: boolean | readonly string[] | undefined;
  /** Who asks, best with an address to write to; the first word is the name in robots.txt. @default "SeekRL" */
  readonly userAgent?: string;
}

const optionKinds: OptionKinds<PageReaderOptions> = {
  cache: diskCacheKind,
  maxChars: "number",
  download: optionsOf<DownloadLimits>({ timeoutMs: "number", maxBytes: "number", maxRedirects: "number" }),
  hosts: optionsOf<HostLimits>({ perHost: "number", delayMs: "number", maxConcurrent: "number" }),
  robots: "boolean",
  allowPrivate: "any",
  userAgent: "string",
};

/** A page, or why there is none. */
export type WebPage =
  | { readonly url: string; readonly title: string; readonly text: string }
  | { readonly url: string; readonly failure: string };

/** Reads pages; it rejects only when the signal fires. */
export type ReadPages = (
  urls: readonly string[],
  options?: { readonly signal?: AbortSignal | undefined },
) => Promise<WebPage[]>;

/** What a site says of programs is asked again after a day (RFC 9309, 2.4). */
const robotsMaxAgeMs = 24 * 3_600_000;
const kinds = new Set(["text/html", "application/xhtml+xml", "text/plain"]);
const pageSchema = lazySchema((z) => z.object({ title: z.string(), text: z.string() }));
type PageContent = z.output<ReturnType<typeof pageSchema>>;

/**
 * A reader of web pages: HTML and plain text, the article without its menus. Hosts are asked one page after the other
 * with pauses, robots.txt is heeded, private addresses are refused, and bytes, redirects and time are bounded. A page
 * that is asked for by many at once is fetched once.
 *
 * @param options - cache, limits, politeness
 * @returns a function from addresses to pages, in order; a page that cannot be had says why instead of throwing
 * @example
 * const read = pageReader({ allowPrivate: true, robots: false });
 * const [page] = await read([pageUrl]);
 * assert.equal(page.title, "Paris");
 */
export function pageReader(options: PageReaderOptions = {}): ReadPages {
  checkOptions("pageReader", options, optionKinds);
  const reader = new PageReader(options);
  return async (urls, { signal } = {}) => {
    throwIfAborted(signal, "pages");
    return beforeAbort(Promise.all(urls.map((url) => reader.read(url))), signal);
  };
}

/**
 * A search whose hits have the text of the pages they name; a page that cannot be read keeps the search's own text.
 *
 * @param search - its hits' ids are addresses, as those of `webSearch`
 * @param options - `read`, of `pageReader`
 * @returns a search
 * @example
 * const excerpts = async () => [[{ id: pageUrl, title: "?", text: "A city", score: 1 }]];
 * const search = withPages(excerpts, { read: pageReader({ allowPrivate: true }) });
 * const [[hit]] = await search(["Paris"], { topK: 1 });
 * assert.match(hit.text, /capital/);
 */
export function withPages(search: Search, options: { readonly read: ReadPages }): Search {
  checkArgument("withPages: search", search, "function");
  const { read } = checkOptions("withPages", options, { read: "function" }, ["read"]);
  return async (queries, how) => {
    const found = await askSearch(search, queries, how);
    const urls = [...new Set(found.flat().map(({ id }) => id))];
    const pages = await read(urls, { signal: how.signal });
    const byUrl = new Map(urls.map((url, i) => [url, pages[i]]));
    return found.map((hits) =>
      hits.map((hit) => {
        const page = byUrl.get(hit.id);
        if (page === undefined || "failure" in page || page.text === "") return hit;
        return { ...hit, title: page.title || hit.title, text: page.text };
      }),
    );
  };
}

class PageReader {
  readonly #options: PageReaderOptions;
  readonly #userAgent: string;
  readonly #hosts: HostQueue;
  readonly #extractor = new TextExtractor();
  readonly #cache: DiskCache<PageContent> | undefined;
  readonly #robots = new Map<string, { readonly robots: Promise<Robots>; readonly time: number }>();
  readonly #underWay = new Map<string, Promise<WebPage>>();

  constructor(options: PageReaderOptions) {
    this.#options = options;
    this.#userAgent = options.userAgent ?? "SeekRL";
    this.#hosts = new HostQueue(options.hosts);
    this.#cache = options.cache && new DiskCache(options.cache, pageSchema());
  }

  read(url: string): Promise<WebPage> {
    const known = this.#underWay.get(url);
    if (known) return known;
    const page = this.#page(url).finally(() => this.#underWay.delete(url));
    this.#underWay.set(url, page);
    return page;
  }

  async #page(url: string): Promise<WebPage> {
    try {
      const kept = await this.#cache?.get(url);
      const content = kept ?? (await this.#fetch(url));
      if (kept === undefined) await this.#cache?.set(url, content);
      return { url, title: content.title, text: cut(content.text, this.#options.maxChars ?? 35_000) };
    } catch (error) {
      return { url, failure: `${url}: ${messageOf(error)}` };
    }
  }

  async #fetch(address: string): Promise<PageContent> {
    const url = URL.canParse(address) ? new URL(address) : undefined;
    if (url?.protocol !== "http:" && url?.protocol !== "https:") {
      throw new SeekError("ERR_ARGUMENT", "expected an address of http or https");
    }
    const { text, contentType } = await this.#get(url, (status, type) => {
      if (status !== 200) throw new SeekError("ERR_REMOTE", `expected status 200, got ${status}`);
      if (kinds.has(type)) return true;
      throw new SeekError("ERR_FORMAT", `expected HTML or plain text, got ${type || "no type"}`);
    });
    const isPlain = contentType === "text/plain";
    return isPlain ? { title: "", text: text.trim() } : this.#extractor.extract(text);
  }

  /** Follows redirects; each address on the way is asked for like the first. */
  async #get(url: URL, accepts: Accepts, isRobots = false): Promise<Download> {
    const { maxRedirects = 5 } = this.#options.download ?? {};
    let next = url;
    for (let hops = 0; hops <= maxRedirects; hops += 1) {
      if (!isRobots && !(await this.#mayFetch(next))) {
        throw new SeekError("ERR_REMOTE", `${next.host}: robots.txt keeps programs out`);
      }
      const answer = await this.#download(next, accepts);
      if (answer.location === undefined) return answer;
      next = answer.location;
    }
    throw new SeekError("ERR_REMOTE", `expected at most ${maxRedirects} redirects, got more`);
  }

  async #mayFetch({ origin, pathname, search }: URL): Promise<boolean> {
    if (this.#options.robots === false) return true;
    let known = this.#robots.get(origin);
    if (known === undefined || Date.now() - known.time > robotsMaxAgeMs) {
      known = { robots: this.#readRobots(origin), time: Date.now() };
      this.#robots.set(origin, known);
    }
    return (await known.robots).allows(`${pathname}${search}`);
  }

  async #readRobots(origin: string): Promise<Robots> {
    try {
      const { status, text } = await this.#get(new URL("/robots.txt", origin), (code) => code === 200, true);
      if (status === 200) return parseRobots(text, this.#userAgent.split(/[\s/]/)[0] ?? "");
      if (status < 500) return allowAll;
    } catch (error) {
      // A page of a private address is refused for that, not for what it says of programs.
      if (error instanceof SeekError && error.code === "ERR_ARGUMENT") return allowAll;
    }
    // Not for a day: the site may be back for the next page.
    this.#robots.delete(origin);
    return allowNone;
  }

  #download(url: URL, accepts: Accepts): Promise<Download> {
    const { timeoutMs = 15_000, maxBytes = 2 << 20 } = this.#options.download ?? {};
    const { allowPrivate = false } = this.#options;
    return this.#hosts.run(url.host, async () => {
      const signal = AbortSignal.timeout(timeoutMs);
      try {
        return await download(url, { userAgent: this.#userAgent, allowPrivate, maxBytes, signal }, accepts);
      } catch (error) {
        const through = throughProxy(url).trim();
        if (!signal.aborted && (through === "" || error instanceof SeekError)) throw error;
        const what = signal.aborted ? `no whole page within ${timeoutMs} ms` : messageOf(error);
        throw new SeekError("ERR_REMOTE", `${through && `${through}: `}${what}`, { cause: error });
      }
    });
  }
}

/** Whether the body of an answer is wanted. */
type Accepts = (status: number, contentType: string) => boolean;

/** Whoever leaves does not stop the others: a page goes on being fetched, within its own time. */
async function beforeAbort<Result>(work: Promise<Result>, signal: AbortSignal | undefined): Promise<Result> {
  if (signal === undefined) return work;
  let leave = (): void => {};
  const left = new Promise<never>((_, reject) => {
    leave = () => reject(new SeekError("ERR_ABORTED", "pages: aborted", { cause: signal.reason }));
    signal.addEventListener("abort", leave, { once: true });
  });
  return Promise.race([work, left]).finally(() => signal.removeEventListener("abort", leave));
}

/** Never inside of a character. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  return text.slice(0, maxChars).replace(/[\uD800-\uDBFF]$/, "");
}

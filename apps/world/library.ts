/** The search engine of the scripted teacher: a small lexical ranking over one fresh world. */
import type { Search } from "../../lib/search/search.ts";
import type { WorldPassage } from "./story/passages.ts";

const words = (text: string): string[] => text.toLowerCase().match(/[a-z0-9]+/g) ?? [];

/** Ranks the passages of one world by BM25 with the usual constants; ties keep corpus order. */
export class Library {
  readonly #passages: readonly WorldPassage[];
  readonly #postings = new Map<string, [passage: number, count: number][]>();
  readonly #lengths: number[] = [];

  constructor(passages: readonly WorldPassage[]) {
    this.#passages = passages;
    for (const [index, { title, text }] of passages.entries()) {
      const counts = new Map<string, number>();
      const all = words(`${title} ${text}`);
      for (const word of all) counts.set(word, (counts.get(word) ?? 0) + 1);
      for (const [word, count] of counts) {
        const list = this.#postings.get(word);
        if (list) list.push([index, count]);
        else this.#postings.set(word, [[index, count]]);
      }
      this.#lengths.push(all.length);
    }
  }

  /** @returns the first passage with this title. */
  about(title: string): WorldPassage | undefined {
    return this.#passages.find((passage) => passage.title === title);
  }

  /** @returns the `topK` best passages for the query, best first; fewer when fewer share a word with it. */
  search(query: string, topK: number): WorldPassage[] {
    const total = this.#passages.length;
    const mean = this.#lengths.reduce((sum, length) => sum + length, 0) / total;
    const scores = new Map<number, number>();
    for (const word of new Set(words(query))) {
      const list = this.#postings.get(word) ?? [];
      const idf = Math.log(1 + (total - list.length + 0.5) / (list.length + 0.5));
      for (const [index, count] of list) {
        const weight = (count * 2.2) / (count + 1.2 * (0.25 + (0.75 * this.#lengths[index]!) / mean));
        scores.set(index, (scores.get(index) ?? 0) + idf * weight);
      }
    }
    const ranked = [...scores].sort(([a, x], [b, y]) => y - x || a - b);
    return ranked.slice(0, topK).map(([index]) => this.#passages[index]!);
  }
}

/**
 * Searches passages by their words, without an index.
 *
 * @example
 * const search = librarySearch([{ id: "0", title: "Jade", text: "The film Jade was released in 1950." }]);
 * const [hits] = await search(["when was Jade released"], { topK: 2 });
 * assert.equal(hits?.[0]?.title, "Jade");
 */
export function librarySearch(passages: readonly WorldPassage[]): Search {
  const library = new Library(passages);
  return async (queries, { topK }) =>
    queries.map((query) => library.search(query, topK).map((passage, i) => ({ ...passage, score: -i })));
}

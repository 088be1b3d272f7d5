/** Why passages rank where they do: the terms of the query that each holds, its places by words and by vectors. */
import { checkArgument, checkOptions, type OptionKinds } from "../../../base/check-options.ts";
import { SeekError } from "../../../base/errors.ts";
import { queryWords, shownTitle } from "../../../text/analysis/words.ts";
import { Bm25Index } from "../../bm25.ts";
import { type CorpusReport, reportOf } from "../../corpus/report.ts";
import type { Hit } from "../../search.ts";
import {
  type Finder,
  findRows,
  firstRows,
  fusedDepth,
  type RowHit,
  readHits,
  type SearchMode,
} from "../find.ts";
import { analyserOf, countLive, type Manifest } from "../manifest.ts";
import { modesOf, needManifest, type OpenedIndex, openFiles } from "../open.ts";

/** How a passage fares in one ranking. */
interface RankingPlace {
  /** From 1; null beyond the passages that were ranked. */
  readonly rank: number | null;
  readonly score: number | null;
}

/** A hit, and what made it one. */
export interface ExplainedHit extends Hit {
  /** By words: BM25's score, and what each term of the query adds to it, the most first. Absent without words. */
  readonly words?: {
    readonly rank: number | null;
    readonly score: number;
    readonly terms: readonly { readonly term: string; readonly score: number }[];
  };
  /** By vectors. Absent without them. */
  readonly vectors?: RankingPlace;
}

/** What is explained. */
interface ExplainOptions {
  /** @default 10 */
  readonly topK?: number;
  /** @default "hybrid" for an index with both words and vectors, else whichever it has */
  readonly mode?: SearchMode | undefined;
}

const optionKinds: OptionKinds<ExplainOptions> = { topK: "number", mode: ["bm25", "dense", "hybrid"] };

/** What a query is looked for with. */
interface Question {
  readonly query: string;
  readonly depth: number;
  readonly hits: readonly RowHit[];
}

/** An index, opened to see into its rankings. */
export class IndexExplainer {
  readonly manifest: Manifest;
  /** Ways to search that it holds, the usual one first. */
  readonly modes: readonly SearchMode[];
  readonly #files: OpenedIndex;

  private constructor(manifest: Manifest, files: OpenedIndex) {
    this.manifest = manifest;
    this.modes = modesOf(manifest);
    this.#files = files;
  }

  /**
   * Opens an index folder with all that it holds.
   *
   * @param folder - what {@link buildIndex} wrote
   * @returns the explainer, to be closed
   * @throws ERR_IO when there is no index or a file cannot be read, ERR_FORMAT naming the file when one is damaged
   */
  static async open(folder: string): Promise<IndexExplainer> {
    checkArgument("IndexExplainer.open: folder", folder, "string");
    const manifest = await needManifest(folder);
    const [bm25, dense] = [manifest.settings.bm25 !== undefined, manifest.settings.dense !== undefined];
    return new IndexExplainer(manifest, await openFiles(folder, manifest, { bm25, dense, embedder: dense }));
  }

  /** Passages that can be found. */
  get size(): number {
    return countLive(this.manifest);
  }

  /**
   * Searches, and says why.
   *
   * @param query - plain text
   * @param options - how many passages, and by what
   * @returns the hits of a search of the index, best first
   * @throws ERR_ARGUMENT for a mode that it does not hold; ERR_RANGE; ERR_STATE once closed
   */
  async explain(query: string, options: ExplainOptions = {}): Promise<ExplainedHit[]> {
    checkOptions("explain", options, optionKinds);
    const { topK = 10, mode = this.modes[0] ?? "bm25" } = options;
    if (!Number.isInteger(topK) || topK < 1)
      throw new SeekError("ERR_RANGE", `topK: expected a whole number of at least 1, got ${topK}`);
    if (!this.modes.includes(mode))
      throw new SeekError("ERR_ARGUMENT", `mode: expected ${this.modes.join(" or ")}, got ${mode}`);
    const depth = Math.max(topK, fusedDepth);
    const hits = await this.#find(query, topK, mode);
    const [found = []] = await readHits(this.#files.segments, [hits]);
    const question = { query, depth, hits };
    const words = mode === "dense" ? undefined : await this.#words(question);
    const vectors = mode === "bm25" ? undefined : await this.#vectors(question);
    return found.map((hit, i) => ({
      ...hit,
      ...(words && { words: words[i]! }),
      ...(vectors && { vectors: vectors[i]! }),
    }));
  }

  /** Counts over its passages, removed ones included. @throws ERR_ABORTED, ERR_STATE once closed */
  async report(options: { readonly signal?: AbortSignal } = {}): Promise<readonly CorpusReport[]> {
    const reports: CorpusReport[] = [];
    for (const { passages } of this.#files.segments) reports.push(await reportOf(passages, options));
    return reports;
  }

  /** Unmaps the files once running searches have ended. */
  close(): void {
    this.#files.close();
  }

  async #find(query: string, topK: number, mode: SearchMode): Promise<readonly RowHit[]> {
    const { segments, bm25, embedder } = this.#files;
    const finder: Finder = { segments, mode, bm25, embedder };
    const [hits = []] = await findRows(finder, { queries: [query] }, topK);
    return hits;
  }

  async #words({ query, depth, hits }: Question): Promise<NonNullable<ExplainedHit["words"]>[]> {
    const ranking = await this.#find(query, depth, "bm25");
    const terms = await this.#termScores(query, hits);
    return hits.map(({ row }) => {
      const held = terms.flatMap(({ term, scores }) => {
        const score = scores.get(row);
        return score === undefined || score === 0 ? [] : [{ term, score }];
      });
      const { rank } = placeIn(ranking, row);
      const score = held.reduce((sum, each) => sum + each.score, 0);
      return { rank, score, terms: held.sort((a, b) => b.score - a.score) };
    });
  }

  async #vectors({ query, depth, hits }: Question): Promise<RankingPlace[]> {
    const ranking = await this.#find(query, depth, "dense");
    return hits.map(({ row }) => placeIn(ranking, row));
  }

  /** What each word of the query adds to the hits: an index in which nothing else is found is asked for it alone. */
  async #termScores(query: string, hits: readonly RowHit[]) {
    const { bm25, segments } = this.#files;
    const { words, titles, areStops } = queryWords(query, analyserOf(this.manifest.settings));
    const counts = countsOf([...words, ...titles]);
    if (bm25 === undefined || hits.length === 0) return [];
    const rows = new Set(hits.map(({ row }) => row));
    const firsts = firstRows(segments);
    const numRows = (firsts.at(-1) ?? 0) + (segments.at(-1)?.entry.count ?? 0);
    const others = new Int32Array(numRows - rows.size);
    let count = 0;
    for (let row = 0; row < numRows; row += 1) {
      if (rows.has(row)) continue;
      others[count] = row;
      count += 1;
    }
    const only = Bm25Index.join([bm25], { excluded: others });
    try {
      const found = await only.search([...counts.keys()], { topK: rows.size, stops: areStops });
      return [...counts].map(([term, times], q) => {
        const own = Array.from({ length: rows.size }, (_, i) => q * rows.size + i);
        const scores = own.map((i) => [found.ids[i] ?? -1, times * (found.scores[i] ?? 0)] as const);
        return { term: shownTitle(term), scores: new Map(scores.filter(([row]) => row >= 0)) };
      });
    } finally {
      only.close();
    }
  }
}

/** How often each word stands in a query: a term that is said twice counts twice. */
function countsOf(words: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function placeIn(ranking: readonly RowHit[], row: number): RankingPlace {
  const place = ranking.findIndex((hit) => hit.row === row);
  return place < 0 ? { rank: null, score: null } : { rank: place + 1, score: ranking[place]?.score ?? null };
}

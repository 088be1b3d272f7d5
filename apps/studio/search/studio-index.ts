/** The index that a studio searches in, and why its passages rank where they do. */
import { requireNoLinkOut } from "../../../lib/base/files/regular-file.ts";
import {
  type ExplainedHit as Explained,
  IndexExplainer,
} from "../../../lib/search/index-folder/explain/explain.ts";
import { indexInfo } from "../../../lib/search/index-folder/info.ts";
import type {
  CorpusSummary,
  ExplainedHit,
  IndexDescription,
  IndexSearchRequest,
  IndexSearchResult,
} from "../api.ts";

/** What reciprocal rank fusion adds to a rank (lib/search/rank-fusion.ts). */
const rankOffset = 60;

/** One index folder, opened. */
export class StudioIndex {
  readonly #folder: string;
  readonly #explainer: IndexExplainer;
  #report: Promise<CorpusSummary> | undefined;

  private constructor(folder: string, explainer: IndexExplainer) {
    this.#folder = folder;
    this.#explainer = explainer;
  }

  /** @throws as {@link IndexExplainer.open}; ERR_IO for a folder with a link out of it */
  static async open(folder: string): Promise<StudioIndex> {
    await requireNoLinkOut(folder);
    return new StudioIndex(folder, await IndexExplainer.open(folder));
  }

  /** What it holds. @throws ERR_IO */
  async describe(): Promise<IndexDescription> {
    await requireNoLinkOut(this.#folder);
    const { passages, removed, bytes, segments } = await indexInfo(this.#folder, { verify: "none" });
    return {
      ...{ folder: this.#folder, passages, removed, bytes, modes: this.#explainer.modes },
      segments: segments.map(({ name, passages: own, vectors = null }) => ({ name, passages: own, vectors })),
    };
  }

  /** Hits, and why. @throws ERR_ARGUMENT for a mode that it does not hold */
  async search({ query, topK, mode }: IndexSearchRequest): Promise<IndexSearchResult> {
    const started = performance.now();
    const asked = { ...(topK === undefined ? {} : { topK }), mode };
    const hits = await this.#explainer.explain(query, asked);
    const milliseconds = performance.now() - started;
    return { mode: mode ?? this.#explainer.modes[0] ?? "bm25", milliseconds, hits: hits.map(explainedHit) };
  }

  /** Counts over its passages; read once. */
  report(): Promise<CorpusSummary> {
    this.#report ??= this.#count().catch((error: unknown) => {
      this.#report = undefined;
      throw error;
    });
    return this.#report;
  }

  /** Unmaps its files. */
  close(): void {
    this.#explainer.close();
  }

  /** Of several segments the counts add up; places are those within the first segment that has examples. */
  async #count(): Promise<CorpusSummary> {
    const reports = await this.#explainer.report();
    const sum = (name: "numPassages" | "numWords" | "numEmpty" | "numOverLong" | "numDuplicates"): number =>
      reports.reduce((total, report) => total + report[name], 0);
    const first = <Name extends "empty" | "overLong" | "duplicates">(name: Name) =>
      reports.find((report) => report[name].length > 0)?.[name] ?? [];
    return {
      ...{ numPassages: sum("numPassages"), numWords: sum("numWords"), numEmpty: sum("numEmpty") },
      ...{ numOverLong: sum("numOverLong"), numDuplicates: sum("numDuplicates") },
      numLongestWords: Math.max(0, ...reports.map(({ numLongestWords }) => numLongestWords)),
      maxWords: reports[0]?.maxWords ?? 0,
      empty: first("empty") as readonly number[],
      overLong: first("overLong") as readonly number[],
      duplicates: first("duplicates") as CorpusSummary["duplicates"],
    };
  }
}

function explainedHit({ words, vectors, ...hit }: Explained, i: number): ExplainedHit {
  const share = (rank: number | null | undefined): number =>
    typeof rank === "number" ? 1 / (rankOffset + rank) : 0;
  return {
    ...{ rank: i + 1, id: hit.id, title: hit.title, text: hit.text, score: hit.score },
    ...(words && { words }),
    ...(vectors && { vectors }),
    ...(words && vectors && { fusion: { words: share(words.rank), vectors: share(vectors.rank) } }),
  };
}

/** Search in passages that live in PostgreSQL: by vectors with pgvector, or by words with full-text search. */
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { mapConcurrently } from "../../lib/base/map-concurrently.ts";
import type { Embedder } from "../../lib/search/embed/embedder.ts";
import type { Hit, Search } from "../../lib/search/search.ts";
import {
  lexicalText,
  metricKind,
  nearestText,
  scoreOf,
  type VectorMetric,
  vectorText,
} from "./passage-table.ts";
import { Postgres, type PostgresOptions, postgresKinds, type Statement } from "./postgres.ts";

/** Which passages, and how they are found. */
export interface PgSearchOptions extends PostgresOptions {
  /** `passages`, or `schema.passages`. @default "passages" */
  readonly table?: string;
  /** Embeds the queries; without one the search is by words. */
  readonly embedder?: Pick<Embedder, "embedQueries" | "dim">;
  /** The one the table was made with. @default "cos" */
  readonly metric?: VectorMetric;
  /** The one the table was made with. @default "f32" */
  readonly dtype?: "f32" | "f16";
  /** Neighbours that the graph keeps in view, 1 to 1,000; more find more. @default 100 */
  readonly efSearch?: number;
  /** The text search configuration that the table was made with, for searching by words. @default "english" */
  readonly language?: string;
}

const optionKinds: OptionKinds<PgSearchOptions> = {
  ...postgresKinds,
  table: "string",
  embedder: "object",
  metric: metricKind,
  dtype: ["f32", "f16"],
  efSearch: "number",
  language: "string",
};

/** A search to be closed when it is no longer needed. */
export type PgSearch = Search &
  AsyncDisposable & {
    /** Closes the connections; later searches reject. */
    close(): Promise<void>;
  };

interface Row {
  /** From 1. */
  readonly query: number;
  readonly id: string;
  readonly title: string;
  readonly text: string;
  readonly distance: number;
}

/** How one list of queries becomes statements, and a distance a score. */
interface Plan {
  statements(queries: readonly string[], topK: number, signal?: AbortSignal): Promise<Statement[]>;
  score(distance: number): number;
}

/**
 * Opens a search in PostgreSQL. No connection is made before the first query. The scores are the cosine, the inner
 * product, minus the distance, or `ts_rank_cd` when there is no embedder.
 *
 * @param options - database, table, embedder
 * @returns a {@link Search} with `close()`; it rejects with ERR_REMOTE (the server's message) and ERR_ABORTED
 * @throws ERR_ARGUMENT, ERR_RANGE
 * @example
 * const search = openPgSearch({ connection: "postgresql://localhost/wiki", table: "passages", embedder });
 * await search.close();
 */
export function openPgSearch(options: PgSearchOptions): PgSearch {
  checkOptions("openPgSearch", options, optionKinds);
  const { embedder, efSearch = 100 } = options;
  if (!Number.isInteger(efSearch) || efSearch < 1 || efSearch > 1000) {
    throw new SeekError("ERR_RANGE", `efSearch: expected an integer of 1 to 1000, got ${efSearch}`);
  }
  const plan = embedder ? densePlan(options, embedder, efSearch) : lexicalPlan(options);
  const database = new Postgres(options);
  const search: Search = async (queries, { topK, signal }) => {
    const parts = cut(queries, database.maxConcurrent);
    const found = await mapConcurrently(parts, parts.length, async (part) => {
      const rows = await database.run<Row>(await plan.statements(part, topK, signal), signal);
      return hitsOf(rows, part.length, plan);
    });
    return found.flat();
  };
  const close = (): Promise<void> => database.close();
  return Object.assign(search, { close, [Symbol.asyncDispose]: close });
}

function densePlan(
  { table = "passages", metric = "cos", dtype = "f32" }: PgSearchOptions,
  embedder: NonNullable<PgSearchOptions["embedder"]>,
  efSearch: number,
): Plan {
  const text = nearestText({ table, metric, dtype });
  return {
    statements: async (queries, topK, signal) => {
      const vectors = await embedder.embedQueries(queries, signal ? { signal } : {});
      const asked = queries.map((_, row) => vectorText(vectors, row, embedder.dim));
      // The graph finds no more than it keeps in view.
      const inView = Math.min(1000, Math.max(efSearch, topK));
      return [
        { text: "select set_config('hnsw.ef_search', $1, true)", values: [String(inView)] },
        { text, values: [asked, topK] },
      ];
    },
    score: (distance) => scoreOf(distance, metric),
  };
}

function lexicalPlan({ table = "passages", language = "english" }: PgSearchOptions): Plan {
  const text = lexicalText({ table });
  return {
    statements: async (queries, topK) => [{ text, values: [queries, topK, language] }],
    score: (distance) => -distance,
  };
}

/** At most `count` lists of nearly equal length. */
function cut(queries: readonly string[], count: number): string[][] {
  const size = Math.ceil(queries.length / count);
  return Array.from({ length: size === 0 ? 0 : Math.ceil(queries.length / size) }, (_, i) =>
    queries.slice(i * size, (i + 1) * size),
  );
}

function hitsOf(rows: readonly Row[], numQueries: number, plan: Plan): Hit[][] {
  const hits: Hit[][] = Array.from({ length: numQueries }, () => []);
  for (const { query, id, title, text, distance } of rows) {
    hits[query - 1]?.push({ id, title, text, score: plan.score(distance) });
  }
  return hits;
}

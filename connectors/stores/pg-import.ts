/** Brings passages into PostgreSQL: the table, the rows in batches, the indexes last. */
import { checkOptions, type OptionKinds } from "../../lib/base/check-options.ts";
import { SeekError } from "../../lib/base/errors.ts";
import type { Passage } from "../../lib/search/corpus/passage.ts";
import { indexedText } from "../../lib/search/corpus/passage.ts";
import type { Embedder } from "../../lib/search/embed/embedder.ts";
import { type ImportOptions, type ImportProgress, importKinds, inBatches } from "./import.ts";
import {
  createStatements,
  indexStatements,
  insertText,
  metricKind,
  type PassageTable,
  type VectorMetric,
  vectorText,
} from "./passage-table.ts";
import { Postgres, type PostgresOptions, postgresKinds } from "./postgres.ts";

/** Where passages go and what is stored with them. */
export interface PgImportOptions extends PostgresOptions, ImportOptions {
  /** `passages`, or `schema.passages`; made unless it is there. @default "passages" */
  readonly table?: string;
  readonly embedder: Pick<Embedder, "embedPassages" | "dim">;
  /** @default "cos" */
  readonly metric?: VectorMetric;
  /** @default "f32" */
  readonly dtype?: "f32" | "f16";
  /** A text search configuration such as `english` adds a column of words, for searching by words too. @default none */
  readonly language?: string;
}

const optionKinds: OptionKinds<PgImportOptions> = {
  ...postgresKinds,
  ...importKinds,
  table: "string",
  embedder: "object",
  metric: metricKind,
  dtype: ["f32", "f16"],
  language: "string",
};

/** Building the graph of many passages takes its time. */
const patient = { timeoutMs: 24 * 3_600_000, deadlineMs: 24 * 3_600_000 };

/**
 * Makes extension, table and HNSW index unless they are there, and inserts passages; one whose id is there already is
 * replaced, so an import that broke off is simply started again.
 *
 * @param passages - each id once
 * @param options - database, table, embedder
 * @returns how many passages were stored, and how fast
 * @throws ERR_REMOTE with the server's message, ERR_FORMAT for ids that come twice or a NUL in a text, ERR_ABORTED
 * @example
 * const into = { connection: databaseUrl, table: "passages", embedder };
 * const { passages } = await importToPg(readDocuments("passages.jsonl"), into);
 * await using search = openPgSearch(into);
 * const [hits] = await search(["capital of France"], { topK: 1 });
 * assert.deepEqual([passages, hits[0].title], [2, "Paris"]);
 */
export async function importToPg(
  passages: Iterable<Passage> | AsyncIterable<Passage>,
  options: PgImportOptions,
): Promise<ImportProgress> {
  checkOptions("importToPg", options, optionKinds, ["embedder"]);
  const { embedder, signal, transport, language } = options;
  const { table = "passages", metric = "cos", dtype = "f32" } = options;
  const target: PassageTable = { table, metric, dtype, language, dim: embedder.dim };
  const insert = insertText(target);
  const database = new Postgres({ ...options, transport: { ...patient, ...transport } });
  try {
    await database.run(createStatements(target), signal);
    const done = await inBatches(passages, options, async (batch) => {
      await database.run([{ text: insert, values: await columnsOf(batch, embedder, signal) }], signal);
    });
    await database.run(indexStatements(target), signal);
    return done;
  } finally {
    await database.close();
  }
}

async function columnsOf(
  batch: readonly Passage[],
  embedder: PgImportOptions["embedder"],
  signal: AbortSignal | undefined,
): Promise<string[][]> {
  for (const { id, title, text } of batch) {
    if (!`${id}${title}${text}`.includes("\0")) continue;
    throw new SeekError("ERR_FORMAT", `passage ${JSON.stringify(id)}: PostgreSQL keeps no text with a NUL`);
  }
  const vectors = await embedder.embedPassages(batch.map(indexedText), signal ? { signal } : {});
  return [
    batch.map(({ id }) => id),
    batch.map(({ title }) => title),
    batch.map(({ text }) => text),
    batch.map((_, row) => vectorText(vectors, row, embedder.dim)),
  ];
}

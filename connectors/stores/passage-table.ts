/** The table that holds passages in PostgreSQL: its columns, its indexes, the SQL that asks it. */
import { createHash } from "node:crypto";
import { SeekError } from "../../lib/base/errors.ts";
import { lazyPackage } from "../../lib/base/on-first-use.ts";
import type { Statement } from "./postgres.ts";

const pg = lazyPackage<typeof import("pg")>("pg");

/** How vectors compare: `cos` and `ip` like the local indexes, `l2` by distance. */
export type VectorMetric = "cos" | "ip" | "l2";

/** Of an option `metric`. */
export const metricKind: readonly VectorMetric[] = ["cos", "ip", "l2"];

/** Where the passages stand and how their vectors are stored. */
export interface PassageTable {
  /** `passages`, or `schema.passages`. */
  readonly table: string;
  /** Width of a vector. */
  readonly dim: number;
  readonly metric: VectorMetric;
  /** `f32` is pgvector's `vector` (indexed up to 2,000 components), `f16` its `halfvec` (up to 4,000). */
  readonly dtype: "f32" | "f16";
  /** The text search configuration of a column of words; undefined makes none. */
  readonly language?: string | undefined;
}

/** Operators and operator classes of https://github.com/pgvector/pgvector; all of them are distances. */
const operators = { cos: "<=>", ip: "<#>", l2: "<->" } as const;
const operatorClasses = { cos: "cosine", ip: "ip", l2: "l2" } as const;
const types = { f32: "vector", f16: "halfvec" } as const;

/** A quoted name, its schema quoted apart. @throws ERR_ARGUMENT */
function quoted(table: string): string {
  const parts = table.split(".");
  if (parts.length <= 2 && parts.every((part) => part !== "")) {
    return parts.map((part) => pg().escapeIdentifier(part)).join(".");
  }
  throw new SeekError("ERR_ARGUMENT", `table: expected a name or schema.name, got ${JSON.stringify(table)}`);
}

/** Makes extension and table unless they are there. */
export function createStatements({ table, dim, dtype, language }: PassageTable): Statement[] {
  const columns = [
    "id text primary key, title text not null, text text not null",
    `embedding ${types[dtype]}(${dim}) not null`,
  ];
  if (language !== undefined) {
    const words = `to_tsvector(${pg().escapeLiteral(language)}::regconfig, title || ' ' || text)`;
    columns.push(`words tsvector generated always as (${words}) stored`);
  }
  return [
    { text: "create extension if not exists vector" },
    { text: `create table if not exists ${quoted(table)} (${columns.join(", ")})` },
  ];
}

/** Makes the indexes unless they are there: best after the passages, when building them is fastest. */
export function indexStatements({ table, metric, dtype, language }: PassageTable): Statement[] {
  // PostgreSQL cuts names at 63 bytes, and an index of another table with the same name would count as there.
  const hash = createHash("sha256").update(table).digest("hex").slice(0, 16);
  const name = (suffix: string): string => pg().escapeIdentifier(`seekrl_${hash}_${suffix}`);
  const dense = `using hnsw (embedding ${types[dtype]}_${operatorClasses[metric]}_ops)`;
  const statements = [`create index if not exists ${name(metric)} on ${quoted(table)} ${dense}`];
  if (language !== undefined) {
    statements.push(`create index if not exists ${name("words")} on ${quoted(table)} using gin (words)`);
  }
  // What is known of the columns decides whether the planner takes an index.
  return [...statements, `analyze ${quoted(table)}`].map((text) => ({ text }));
}

/** Inserts passages, or replaces those with the same id: $1 ids, $2 titles, $3 texts, $4 vectors. */
export function insertText({ table, dtype }: PassageTable): string {
  return `insert into ${quoted(table)} (id, title, text, embedding)
    select id, title, text, embedding::${types[dtype]}
    from unnest($1::text[], $2::text[], $3::text[], $4::text[]) as given(id, title, text, embedding)
    on conflict (id) do update set title = excluded.title, text = excluded.text, embedding = excluded.embedding`;
}

/** The nearest passages of each vector of $1, $2 of them each: rows of (query, id, title, text, distance). */
export function nearestText({
  table,
  metric,
  dtype,
}: Pick<PassageTable, "table" | "metric" | "dtype">): string {
  const distance = `embedding ${operators[metric]} asked.vector::${types[dtype]}`;
  return `select asked.query::int as query, found.*
    from unnest($1::text[]) with ordinality as asked(vector, query)
    cross join lateral (
      select id, title, text, ${distance} as distance from ${quoted(table)} order by ${distance} limit $2
    ) as found
    order by asked.query, found.distance, found.id`;
}

/** The best passages for each text of $1 by their words, $2 of them each, in the configuration $3. */
export function lexicalText({ table }: Pick<PassageTable, "table">): string {
  // plainto_tsquery wants all words; a question finds more when any of them will do.
  return `select asked.query::int as query, found.*
    from unnest($1::text[]) with ordinality as asked(text, query)
    cross join lateral (
      select replace(plainto_tsquery($3::regconfig, asked.text)::text, '&', '|')::tsquery as words
    ) as wanted
    cross join lateral (
      select id, title, text, -ts_rank_cd(words, wanted.words, 1) as distance from ${quoted(table)}
      where words @@ wanted.words order by distance, id limit $2
    ) as found
    order by asked.query, found.distance, found.id`;
}

/** A vector as pgvector reads it; nine digits keep every f32. */
export function vectorText(vectors: Float32Array, row: number, dim: number): string {
  return `[${vectors.subarray(row * dim, (row + 1) * dim).join(",")}]`;
}

/** A score from a distance, so that higher is better: the cosine, the inner product, or minus the distance. */
export function scoreOf(distance: number, metric: VectorMetric): number {
  return metric === "cos" ? 1 - distance : -distance;
}

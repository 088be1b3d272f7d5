/** What all protocols share: queries in, hits out, within the limits. */

import type { z } from "zod";
import { SeekError } from "../../../lib/base/errors.ts";
import { zod } from "../../../lib/base/on-first-use.ts";
import type { BatchOptions } from "../../../lib/search/batching/batcher.ts";
import { withBatching } from "../../../lib/search/batching/batching.ts";
import type { IndexSearch } from "../../../lib/search/index-folder/open.ts";
import type { IndexShard } from "../../../lib/search/index-folder/shard/shard.ts";
import type { Hit, Search } from "../../../lib/search/search.ts";
import { listField } from "../http/body/list-field.ts";
import type { Call } from "../http/call.ts";
import { Gate } from "../http/gate.ts";
import { Refusal } from "../http/refusal.ts";
import { inParts } from "../http/slices.ts";
import type { RetrieverLimits, RetrieverOptions } from "./options.ts";

/** What a request asks for, whatever its protocol. */
interface Question {
  readonly queries: readonly string[];
  readonly topK: number;
  /** The names of both in the request, for messages. */
  readonly names: { readonly queries: string; readonly topK: string };
  /** Whether blank queries have no hits, rather than being refused. */
  readonly mayBeBlank: boolean;
  /** Whether queries whose search failed have no hits, where others have. */
  readonly mayFail: boolean;
}

/** What is done about single queries of a batch. */
export function leniencyOf({
  blankQueries,
  failedQueries,
}: Pick<RetrieverOptions, "blankQueries" | "failedQueries">): Pick<Question, "mayBeBlank" | "mayFail"> {
  return { mayBeBlank: blankQueries === "answer", mayFail: failedQueries === "answer" };
}

/** What one query came to. */
type Outcome = { readonly hits: Hit[] } | { readonly error: unknown };

const isBlank = (query: string): boolean => query.trim() === "";

/** A failed search as clients see it: nothing of its message, which may name files or other servers. */
export function failureOf(cause: unknown): Refusal {
  if (cause instanceof Refusal) return cause;
  const isRemote = cause instanceof SeekError && cause.code === "ERR_REMOTE";
  return new Refusal(isRemote ? "search_failed" : "internal", "the search failed", { cause });
}

/** Ends with the call: late or gone is not the search's failure. */
export async function forCall<Result>(call: Call, work: Promise<Result>): Promise<Result> {
  try {
    return await work;
  } catch (cause) {
    throw call.signal.aborted ? call.signal.reason : failureOf(cause);
  }
}

/** A query that was not answered. */
interface Failure {
  readonly place: number;
  readonly error: unknown;
}

/** Refuses the request, or says which of its queries are answered with nothing. @throws Refusal */
function report(
  call: Call,
  { names, mayFail }: Question,
  { failed, isAll }: { readonly failed: readonly Failure[]; readonly isAll: boolean },
): void {
  const [first] = failed as [Failure];
  const refusal = failureOf(first.error);
  if (isAll) throw refusal;
  const { code, message, cause } = refusal;
  if (!mayFail) throw new Refusal(code, `${names.queries}[${first.place}]: ${message}`, { cause });
  call.headers["x-failed-queries"] = failed.map(({ place }) => place).join(", ");
  call.fault = first.error;
}

/** The search behind the routes. */
export class Retriever {
  readonly limits: RetrieverLimits;
  readonly gate: Gate;
  /** A query, and how many passages it may ask for. */
  readonly shapes: {
    readonly query: z.ZodString;
    readonly queries: z.ZodType<string[]>;
    readonly topK: z.ZodInt;
  };
  #search: Search | undefined;
  #shard: IndexShard | undefined;

  constructor(limits: RetrieverLimits) {
    this.limits = limits;
    this.gate = new Gate(limits.maxWaiting);
    const query = zod().string().max(limits.maxQueryChars);
    const topK = zod().int().min(1).max(limits.maxTopK);
    this.shapes = { query, queries: listField(query, { max: limits.maxQueries }), topK };
  }

  /** Answers from now on. */
  open(search: Search, options: BatchOptions): void {
    this.#shard = (search as Partial<IndexSearch>).shard;
    this.#search = withBatching(search, options);
    if (this.gate.state === "loading") this.gate.state = "ready";
  }

  /** The index behind the search, to be searched with others as one. @throws Refusal where there is none */
  get shard(): IndexShard {
    this.gate.checkReady();
    if (this.#shard !== undefined) return this.#shard;
    throw new Refusal(
      "not_found",
      "this server is no shard: what it serves is not an index folder by itself",
    );
  }

  /** A checked body; a server that cannot answer says so before it reads. */
  async read<Shape extends z.ZodType>(call: Call, schema: Shape): Promise<z.output<Shape>> {
    this.gate.checkReady();
    return call.read(schema, this.limits);
  }

  /** Hits for each query. @throws Refusal */
  async find(call: Call, question: Question): Promise<Hit[][]> {
    this.#check(question);
    const { queries, topK } = question;
    const places = [...queries.keys()].filter((place) => !isBlank(queries[place] as string));
    const leave = this.gate.enter(places.length);
    try {
      const ask = (place: number): Promise<Outcome> =>
        this.#outcome(queries[place] as string, topK, call.signal);
      const outcomes = await inParts(places, (part) => Promise.all(part.map(ask)));
      if (call.signal.aborted) throw call.signal.reason;
      const hits = queries.map((): Hit[] => []);
      const failed: Failure[] = [];
      for (const [i, outcome] of outcomes.entries()) {
        const place = places[i] as number;
        if ("hits" in outcome) hits[place] = outcome.hits;
        else failed.push({ place, error: outcome.error });
      }
      if (failed.length > 0) report(call, question, { failed, isAll: failed.length === places.length });
      return hits;
    } finally {
      leave();
    }
  }

  /** Each query by itself, so that one that fails costs the others nothing; they are searched for together all the same. */
  async #outcome(query: string, topK: number, signal: AbortSignal): Promise<Outcome> {
    try {
      const [hits = []] = await (this.#search as Search)([query], { topK, signal });
      return { hits };
    } catch (error) {
      return { error };
    }
  }

  #check({ queries, topK, names, mayBeBlank }: Question): void {
    const blank = mayBeBlank ? -1 : queries.findIndex(isBlank);
    if (blank >= 0) {
      const place = names.queries === "query" && queries.length === 1 ? "" : `${names.queries}[${blank}]: `;
      throw new Refusal("empty_query", `${place}Query content cannot be empty`);
    }
    const { maxHits } = this.limits;
    if (queries.length * topK <= maxHits) return;
    const msg = `${queries.length} queries with ${topK} passages each are more than ${maxHits} passages`;
    const issue = { type: "less_than_equal", loc: ["body", names.topK], msg, input: topK };
    throw new Refusal("invalid_request", `${names.topK}: ${msg}`, { issues: [issue] });
  }
}

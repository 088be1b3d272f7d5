/** What all protocols share: queries in, hits out, within the limits. */
import { z } from "zod";
import { SeekError } from "../base/errors.ts";
import { batched } from "../search/batched.ts";
import type { BatchOptions } from "../search/batcher.ts";
import type { Hit, Search } from "../search/search.ts";
import type { Call } from "./call.ts";
import { Gate } from "./gate.ts";
import type { RetrieverLimits } from "./options.ts";
import { Refusal } from "./refusal.ts";
import { readBody } from "./request-body.ts";
import { inParts } from "./slices.ts";

/** What a request asks for, whatever its protocol. */
export interface Question {
  readonly queries: readonly string[];
  readonly topK: number;
  /** The names of both in the request, for messages. */
  readonly names: { readonly queries: string; readonly topK: string };
  /** Whether blank queries have no hits, rather than being refused. */
  readonly mayBeBlank: boolean;
}

const isBlank = (query: string): boolean => query.trim() === "";

/** What clients hear of a failed search: nothing of what it says, which may name files or other servers. */
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

/** The search behind the routes. */
export class Retriever {
  readonly limits: RetrieverLimits;
  readonly gate: Gate;
  /** A query, and how many passages it may ask for. */
  readonly shapes: {
    readonly query: z.ZodString;
    readonly queries: z.ZodArray<z.ZodString>;
    readonly topK: z.ZodInt;
  };
  #search: Search | undefined;

  constructor(limits: RetrieverLimits) {
    this.limits = limits;
    this.gate = new Gate(limits.maxWaiting);
    const query = z.string().max(limits.maxQueryChars);
    const topK = z.int().min(1).max(limits.maxTopK);
    this.shapes = { query, queries: z.array(query).max(limits.maxQueries), topK };
  }

  /** Answers from now on. */
  open(search: Search, options: BatchOptions): void {
    this.#search = batched(search, options);
    if (this.gate.state === "loading") this.gate.state = "ready";
  }

  /** A checked body; a server that cannot answer says so before it reads. */
  async read<Shape extends z.ZodType>(call: Call, schema: Shape): Promise<z.output<Shape>> {
    this.gate.checkReady();
    return readBody(call.incoming, { schema, maxBytes: this.limits.maxBodyBytes, signal: call.signal });
  }

  /** Hits for each query. @throws Refusal */
  async find(call: Call, question: Question): Promise<Hit[][]> {
    this.#check(question);
    const { queries, topK } = question;
    const asked = queries.filter((query) => !isBlank(query));
    const leave = this.gate.enter(asked.length);
    try {
      const search = this.#search as Search;
      const work = inParts(asked, (part) => search(part, { topK, signal: call.signal }));
      const found = (await forCall(call, work)).values();
      return queries.map((query) => (isBlank(query) ? [] : (found.next().value as Hit[])));
    } finally {
      leave();
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

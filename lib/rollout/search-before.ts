/** A search with a deadline: a tool that hangs or fails never holds a rollout (law 7). */
import type { Document } from "../text/observation.ts";
import type { SearchDocuments } from "./rollout.ts";

/** What a bounded search is given. */
export interface DeadlineOptions {
  readonly topK: number;
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Searches, and gives up at the deadline even when the search ignores its signal.
 *
 * @returns the documents per query; undefined when the search failed, was aborted or came too late
 */
export async function searchBefore(
  search: SearchDocuments,
  queries: readonly string[],
  { topK, timeoutMs, signal }: DeadlineOptions,
): Promise<readonly (readonly Document[])[] | undefined> {
  const stop = new AbortController();
  const giveUp = (): void => stop.abort();
  const timer = setTimeout(giveUp, timeoutMs);
  signal?.addEventListener("abort", giveUp, { once: true });
  try {
    const given = new Promise<undefined>((resolve) => {
      stop.signal.addEventListener("abort", () => resolve(undefined), { once: true });
    });
    const found = await Promise.race([attempt(search, queries, topK, stop.signal), given]);
    return found?.length === queries.length ? found : undefined;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", giveUp);
  }
}

async function attempt(
  search: SearchDocuments,
  queries: readonly string[],
  topK: number,
  signal: AbortSignal,
): Promise<readonly (readonly Document[])[] | undefined> {
  try {
    return await search(queries, { topK, signal });
  } catch {
    return undefined;
  }
}

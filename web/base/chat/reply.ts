/** A reply of the model server, put together from the chunks of its stream. */

/** A passage that an agent found or cites. */
export interface Passage {
  readonly id?: string | undefined;
  readonly title: string;
  readonly text?: string | undefined;
  readonly url?: string | undefined;
  readonly score?: number | undefined;
}

/** Thoughts, a search, or what is said, in the order in which they came. */
export type ReplyPart =
  | { readonly kind: "reasoning" | "text"; readonly text: string }
  | {
      readonly kind: "search";
      readonly id: string;
      readonly queries: readonly string[];
      /** One list a query; absent while it is searched. */
      readonly hits?: readonly (readonly Passage[])[];
    };

/** What was said from `start` to `end`, in UTF-16 units of the whole text, stands in a passage. */
export interface Citation {
  readonly passage: Passage;
  readonly quote: string;
  readonly start: number;
  readonly end: number;
}

/** A reply as far as it has come. */
export interface Reply {
  /** Of the response, for feedback. */
  readonly id?: string;
  readonly parts: readonly ReplyPart[];
  readonly citations: readonly Citation[];
  /** Why it ended: OpenAI's names. */
  readonly finish?: string;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
}

/** Before the first chunk. */
export const emptyReply: Reply = { parts: [], citations: [] };

interface Annotation {
  readonly type?: string;
  readonly url_citation?: { url?: string; title?: string; start_index?: number; end_index?: number };
  readonly quote?: string;
}

/** What a chunk may say; what else it has is passed over. */
export interface ReplyChunk {
  readonly id?: string;
  readonly choices?: readonly {
    readonly delta?: {
      readonly content?: string | null;
      readonly reasoning_content?: string | null;
      readonly annotations?: readonly Annotation[];
      readonly seekrl?: { readonly search?: { id: string; queries: readonly string[]; hits?: unknown } };
    };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly prompt_tokens_details?: { readonly cached_tokens?: number };
  } | null;
}

/** Adds text to the last part when that is of its kind; else it begins one. */
function withText(
  parts: readonly ReplyPart[],
  kind: "reasoning" | "text",
  text: string,
): readonly ReplyPart[] {
  const last = parts.at(-1);
  if (last?.kind === kind) return [...parts.slice(0, -1), { kind, text: last.text + text }];
  return [...parts, { kind, text }];
}

function isPassage(value: unknown): value is Passage {
  return typeof value === "object" && value !== null && "title" in value;
}

/** Hits of a search: one list for each query, or one for all of them. */
function hitsOf(hits: unknown): readonly (readonly Passage[])[] | undefined {
  if (!Array.isArray(hits)) return undefined;
  const isNested = hits.some(Array.isArray);
  const lists: readonly unknown[] = isNested ? hits : [hits];
  return lists.map((list) => (Array.isArray(list) ? list.filter(isPassage) : []));
}

function withSearch(
  parts: readonly ReplyPart[],
  { id, queries, hits: given }: { id: string; queries: readonly string[]; hits?: unknown },
): readonly ReplyPart[] {
  const hits = hitsOf(given);
  const search = { kind: "search", id, queries, ...(hits && { hits }) } as const;
  const at = parts.findIndex((part) => part.kind === "search" && part.id === id);
  return at < 0 ? [...parts, search] : parts.with(at, search);
}

function citationOf({ url_citation: cited = {}, quote = "" }: Annotation): Citation {
  const { url, title = url ?? "passage", start_index: start = 0, end_index: end = start } = cited;
  return { passage: { title, url }, quote, start, end };
}

/**
 * The reply after one more chunk.
 *
 * @param reply - so far
 * @param chunk - of OpenAI's stream
 */
export function afterChunk(reply: Reply, { id, choices, usage }: ReplyChunk): Reply {
  const { delta = {}, finish_reason: finish } = choices?.[0] ?? {};
  const { content, reasoning_content: reasoning, annotations = [], seekrl } = delta;
  let { parts } = reply;
  if (reasoning) parts = withText(parts, "reasoning", reasoning);
  if (seekrl?.search) parts = withSearch(parts, seekrl.search);
  if (content) parts = withText(parts, "text", content);
  const cited = annotations.filter(({ type }) => type === "url_citation").map(citationOf);
  return {
    ...reply,
    ...(id && { id }),
    parts,
    citations: cited.length === 0 ? reply.citations : [...reply.citations, ...cited],
    ...(finish && { finish }),
    ...(usage && {
      ...(usage.prompt_tokens !== undefined && { promptTokens: usage.prompt_tokens }),
      ...(usage.completion_tokens !== undefined && { completionTokens: usage.completion_tokens }),
      ...(usage.prompt_tokens_details?.cached_tokens !== undefined && {
        cachedTokens: usage.prompt_tokens_details.cached_tokens,
      }),
    }),
  };
}

/** All that is said, without thoughts: what goes back as the assistant's message. */
export function textOf({ parts }: Pick<Reply, "parts">): string {
  return parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
}

/** A cited passage with its text, where one of the searches found it. */
export function citedPassage({ parts }: Pick<Reply, "parts">, { passage }: Citation): Passage {
  const found = parts.flatMap((part) => (part.kind === "search" ? (part.hits ?? []).flat() : []));
  const isSame = (each: Passage): boolean =>
    passage.url === undefined || each.url === undefined
      ? each.title === passage.title
      : each.url === passage.url;
  return {
    ...found.find(isSame),
    ...Object.fromEntries(Object.entries(passage).filter(([, value]) => value !== undefined)),
    title: passage.title,
  };
}

/** The items of a request, read and given what they lack. */
import type { z } from "zod";
import { lazySchema } from "../../../../base/on-first-use.ts";
import { refused } from "../../../http/refusal.ts";
import { type Content, contentField, textOf } from "../../fields/content.ts";
import { toolName } from "../../fields/tools.ts";
import {
  type Item,
  type MessageItem,
  newItemId,
  type ReasoningItem,
  type TextPart,
  unsealed,
} from "./item.ts";

/** What every item may have. */
const shared = lazySchema((z) =>
  z.object({ id: z.string().min(1).max(128).nullish(), status: z.string().nullish() }),
);

/** A name that joins a call and its output. */
const callId = lazySchema((z) => z.string().min(1).max(128));

const message = lazySchema((z) =>
  z.strictObject({
    ...shared().shape,
    type: z.literal("message"),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: contentField(),
    // Whether it was the answer or a word on the way; templates have no place for it.
    phase: z.enum(["commentary", "final_answer"]).nullish(),
  }),
);

const functionCall = lazySchema((z) =>
  z.strictObject({
    ...shared().shape,
    type: z.literal("function_call"),
    call_id: callId(),
    name: toolName(),
    arguments: z.string(),
    // OpenAI's client keeps it on what it parsed, and sends it back.
    parsed_arguments: z.unknown().optional(),
  }),
);

const functionOutput = lazySchema((z) =>
  z.strictObject({
    ...shared().shape,
    type: z.literal("function_call_output"),
    call_id: callId(),
    output: contentField(),
  }),
);

const reasoning = lazySchema((z) =>
  z.strictObject({
    ...shared().shape,
    type: z.literal("reasoning"),
    summary: z.array(z.looseObject({ type: z.literal("summary_text"), text: z.string() })).default([]),
    content: z.array(z.looseObject({ type: z.literal("reasoning_text"), text: z.string() })).nullish(),
    encrypted_content: z.string().nullish(),
  }),
);

const search = lazySchema((z) =>
  z.strictObject({
    ...shared().shape,
    type: z.literal("web_search_call"),
    action: z.looseObject({
      type: z.literal("search"),
      query: z.string().default(""),
      queries: z.array(z.string()).default([]),
    }),
  }),
);

const compaction = lazySchema((z) =>
  z.strictObject({ ...shared().shape, type: z.literal("compaction"), encrypted_content: z.string() }),
);

const reference = lazySchema((z) =>
  z.strictObject({ type: z.literal("item_reference"), id: z.string().min(1) }),
);

/** Types of items, in the order of the specification. */
const types =
  "message, function_call, function_call_output, reasoning, item_reference, compaction, web_search_call";

const item = lazySchema((z) =>
  z.discriminatedUnion(
    "type",
    [message(), functionCall(), functionOutput(), reasoning(), search(), compaction(), reference()],
    { error: ({ input }) => `expected one of ${types}, got ${String((input as { type?: unknown })?.type)}` },
  ),
);

/** A message needs no type. */
function typed(value: unknown): unknown {
  if (typeof value !== "object" || value === null || !("role" in value)) return value;
  const { type } = value as { readonly type?: unknown };
  return type === undefined || type === null ? { ...value, type: "message" } : value;
}

/** `input`: a text of the user, or items. */
export const inputField = lazySchema((z) =>
  z.union([z.string(), z.array(z.preprocess(typed, item()))], {
    error: ({ input }) => (Array.isArray(input) ? undefined : "expected a text or a list of items"),
  }),
);

/** What {@link inputField} reads. */
export type Input = z.output<ReturnType<typeof inputField>>;
type GivenItem = Exclude<Input, string>[number];
type Given<Type extends GivenItem["type"]> = Extract<GivenItem, { readonly type: Type }>;

/** A place in the request, for messages. */
type Path = readonly (string | number)[];

/** A refusal is what was said, too. */
function refusalsAsText(content: Content): Content {
  if (typeof content === "string") return content;
  return content.map((part) =>
    part.type === "refusal" && typeof part.refusal === "string"
      ? { type: "output_text", text: part.refusal }
      : part,
  );
}

function messageOf({ id, role, content }: Given<"message">, path: Path): MessageItem {
  const isOwn = role === "assistant";
  const text = textOf(isOwn ? refusalsAsText(content) : content, [...path, "content"]);
  const part: TextPart = isOwn
    ? { type: "output_text", text, annotations: [] }
    : { type: "input_text", text };
  return { type: "message", id: id ?? newItemId("message"), status: "completed", role, content: [part] };
}

/** The thoughts themselves: a summary is no thought. */
function reasoningOf({ id, summary, content, encrypted_content }: Given<"reasoning">): ReasoningItem {
  const given = content ?? [];
  const hidden = given.length === 0 && encrypted_content != null ? unsealed(encrypted_content) : undefined;
  const texts = hidden === undefined ? given.map(({ text }) => text) : [hidden];
  return {
    type: "reasoning",
    id: id ?? newItemId("reasoning"),
    status: "completed",
    summary,
    content: texts.map((text) => ({ type: "reasoning_text", text })),
  };
}

function searchOf({ id, action: { query, queries } }: Given<"web_search_call">): Item {
  const type = "web_search_call";
  return { type, id: id ?? newItemId(type), status: "completed", action: { type: "search", query, queries } };
}

/** An item with all that it needs. */
function itemOf(given: Exclude<GivenItem, { readonly type: "item_reference" }>, path: Path): Item {
  if (given.type === "message") return messageOf(given, path);
  if (given.type === "reasoning") return reasoningOf(given);
  if (given.type === "web_search_call") return searchOf(given);
  const { type } = given;
  const common = { id: given.id ?? newItemId(type), status: "completed" } as const;
  if (type === "function_call") {
    const { call_id, name, arguments: text } = given;
    return { type, ...common, call_id, name, arguments: text };
  }
  if (type === "function_call_output") {
    return { type, ...common, call_id: given.call_id, output: textOf(given.output, [...path, "output"]) };
  }
  if (unsealed(given.encrypted_content) === undefined) {
    throw refused([...path, "encrypted_content"], "expected what this server gave out");
  }
  return { type, ...common, encrypted_content: given.encrypted_content };
}

/**
 * The items of a request.
 *
 * @param input - of a checked body
 * @param find - an item that is kept, by its id
 * @throws Refusal for images and files, and for a reference to an item that is not kept
 */
export function itemsOf(input: Input, find: (id: string) => Item | undefined): Item[] {
  if (typeof input === "string") return [messageOf({ type: "message", role: "user", content: input }, [])];
  return input.map((given, i) => {
    const path = ["input", i];
    if (given.type !== "item_reference") return itemOf(given, path);
    const kept = find(given.id);
    if (kept !== undefined) return kept;
    throw refused([...path, "id"], `no item ${given.id.slice(0, 100)} is kept`, "not_found");
  });
}

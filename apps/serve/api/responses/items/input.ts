/** The items of a request, read and given what they lack. */

import type { z } from "zod";
import { lazySchema } from "../../../../../lib/base/on-first-use.ts";
import { listField } from "../../../http/body/list-field.ts";
import { refused } from "../../../http/refusal.ts";
import { contentField, textOf } from "../../fields/content.ts";
import { hint, officialObject } from "../../fields/official.ts";
import { callArguments, toolName } from "../../fields/tools.ts";
import {
  type Item,
  type MessageItem,
  newItemId,
  type ReasoningItem,
  type TextPart,
  unsealed,
} from "./item.ts";

/** What every item may have, and who made it. */
const shared = lazySchema((z) => ({
  id: z.string().min(1).max(128).optional(),
  status: z.string().optional(),
  created_by: hint(),
}));

/** A name that joins a call and its output. */
const callId = lazySchema((z) => z.string().min(1).max(128));

const message = lazySchema((z) =>
  officialObject({
    ...shared(),
    type: z.literal("message"),
    role: z.enum(["user", "assistant", "system", "developer"]),
    content: contentField(),
    // Whether it was the answer or a word on the way; templates have no place for it.
    phase: hint(),
  }),
);

const functionCall = lazySchema((z) =>
  officialObject({
    ...shared(),
    type: z.literal("function_call"),
    call_id: callId(),
    name: toolName(),
    arguments: callArguments(),
    // OpenAI's client keeps the first on what it parsed; functions are called by the model alone, and under one name.
    ...{ parsed_arguments: hint(), caller: hint(), namespace: hint() },
  }),
);

const functionOutput = lazySchema((z) =>
  officialObject({
    ...shared(),
    type: z.literal("function_call_output"),
    call_id: callId(),
    output: contentField(),
    caller: hint(),
  }),
);

const reasoning = lazySchema((z) =>
  officialObject({
    ...shared(),
    type: z.literal("reasoning"),
    summary: listField(z.looseObject({ type: z.literal("summary_text"), text: z.string() })).default([]),
    content: listField(z.looseObject({ type: z.literal("reasoning_text"), text: z.string() })).optional(),
    encrypted_content: z.string().optional(),
  }),
);

const search = lazySchema((z) =>
  officialObject({
    ...shared(),
    type: z.literal("web_search_call"),
    action: z.looseObject({
      type: z.literal(["search", "open_page", "find_in_page"]),
      query: z.string().default(""),
      queries: listField(z.string()).default([]),
    }),
  }),
);

const compaction = lazySchema((z) =>
  officialObject({ ...shared(), type: z.literal("compaction"), encrypted_content: z.string() }),
);

const reference = lazySchema((z) =>
  officialObject({ type: z.literal("item_reference"), id: z.string().min(1) }),
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

/** A message needs no type, and a reference is an id alone. */
function typed(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const { type, role, id } = value as Readonly<Record<string, unknown>>;
  if (type !== undefined && type !== null) return value;
  if (role !== undefined) return { ...value, type: "message" };
  return id === undefined ? value : { ...value, type: "item_reference" };
}

/** `input`: a text of the user, or items. */
export const inputField = lazySchema((z) =>
  z.union([z.string(), listField(z.preprocess(typed, item()))], {
    error: ({ input }) => (Array.isArray(input) ? undefined : "expected a text or a list of items"),
  }),
);

/** What {@link inputField} reads. */
export type Input = z.output<ReturnType<typeof inputField>>;
type GivenItem = Exclude<Input, string>[number];
type Given<Type extends GivenItem["type"]> = Extract<GivenItem, { readonly type: Type }>;

/** A place in the request, for messages. */
type Path = readonly (string | number)[];

function messageOf({ id, role, content }: Given<"message">, path: Path): MessageItem {
  const isOwn = role === "assistant";
  const text = textOf(content, [...path, "content"]);
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

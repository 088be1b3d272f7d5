/** Blocks that Anthropic's messages are made of. */
import type { z as Zod } from "zod";
import { lazySchema, zod } from "../../../base/on-first-use.ts";

/** Prefixes are always kept for the next request, so where a client would have them kept says nothing more. */
export const cacheControl = lazySchema((z) =>
  z.strictObject({ type: z.literal("ephemeral"), ttl: z.enum(["5m", "1h"]).optional() }).nullish(),
);

/**
 * Refuses what has another type, by its name.
 *
 * @param expected - the types that are read
 * @param why - the others are not
 */
export function ofAnotherType(expected: string, why?: string) {
  const error = ({ input }: { readonly input?: unknown }): string => {
    const { type = "none" } = (input ?? {}) as { readonly type?: unknown };
    const name = String(type).slice(0, 100);
    const reason = name === "image" ? "image input is not supported by this model" : why;
    return `expected ${expected}, got ${name}${reason === undefined ? "" : `: ${reason}`}`;
  };
  return { error };
}

const text = lazySchema((z) =>
  z.strictObject({
    type: z.literal("text"),
    text: z.string(),
    cache_control: cacheControl(),
    // Those of an earlier answer, as clients send it back.
    citations: z.array(z.unknown()).nullish(),
  }),
);

/** A text, where nothing else may stand. */
export const textBlock = lazySchema((z) => z.discriminatedUnion("type", [text()], ofAnotherType("text")));

const toolResult = lazySchema((z) =>
  z.strictObject({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    content: textOrBlocks(textBlock()).optional(),
    is_error: z.boolean().optional(),
    cache_control: cacheControl(),
  }),
);

/** What a user says: texts, and what the client's tools answered. */
export const userBlock = lazySchema((z) =>
  z.discriminatedUnion("type", [text(), toolResult()], ofAnotherType("text or tool_result")),
);

const thinking = lazySchema((z) =>
  z.strictObject({ type: z.literal("thinking"), thinking: z.string(), signature: z.string().optional() }),
);

const toolUse = lazySchema((z) =>
  z.strictObject({
    type: z.literal("tool_use"),
    id: z.string().min(1),
    name: z.string().min(1),
    input: z.record(z.string(), z.unknown()),
    caller: z.unknown().optional(),
    cache_control: cacheControl(),
  }),
);

/** An agent's searches of an earlier turn, as clients send them back: the agent reads what was said, not what it found. */
const pastSearch = lazySchema((z) =>
  z.looseObject({ type: z.literal("server_tool_use"), name: z.literal("web_search") }),
);
const pastResults = lazySchema((z) => z.looseObject({ type: z.literal("web_search_tool_result") }));

/** What the model said. */
export const assistantBlock = lazySchema((z) =>
  z.discriminatedUnion(
    "type",
    [text(), thinking(), toolUse(), pastSearch(), pastResults()],
    ofAnotherType("text, thinking or tool_use"),
  ),
);

/** Blocks, or a text that is one block. */
export function textOrBlocks<Block extends Zod.ZodType>(block: Block) {
  const z = zod();
  const blocks = (value: unknown): unknown =>
    typeof value === "string" ? [{ type: "text", text: value }] : value;
  return z.preprocess(blocks, z.array(block));
}

/** What {@link userBlock} reads. */
export type UserBlock = Zod.output<ReturnType<typeof userBlock>>;

/** What {@link assistantBlock} reads. */
export type AssistantBlock = Zod.output<ReturnType<typeof assistantBlock>>;

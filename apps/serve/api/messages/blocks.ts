/** Blocks that Anthropic's messages are made of. */

import type { z as Zod } from "zod";
import { lazySchema, zod } from "../../../../lib/base/on-first-use.ts";
import { messageOf } from "../../../../lib/base/errors.ts";
import { jsonText } from "../../../../lib/base/slices/json-text.ts";
import { mostTextLength } from "../../http/body/extent.ts";
import { listField } from "../../http/body/list-field.ts";
import { hint, officialObject } from "../fields/official.ts";

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
  officialObject({
    type: z.literal("text"),
    text: z.string(),
    // Prefixes are always kept for the next request, so where a client would have them kept says nothing more.
    cache_control: hint(),
    // Of an earlier answer, as clients send it back; Anthropic's keeps what it parsed in two places.
    ...{ citations: hint(), parsed: hint(), parsed_output: hint() },
  }),
);

/** A text, where nothing else may stand. */
export const textBlock = lazySchema((z) => z.discriminatedUnion("type", [text()], ofAnotherType("text")));

/** A tool that a client's own search of tools found; all tools are told at once here. */
const toolReference = lazySchema((z) =>
  officialObject({ type: z.literal("tool_reference"), tool_name: z.string(), cache_control: hint() }),
);

/** What a tool answered. */
const resultBlock = lazySchema((z) =>
  z.discriminatedUnion("type", [text(), toolReference()], ofAnotherType("text")),
);

const toolResult = lazySchema((z) =>
  officialObject({
    type: z.literal("tool_result"),
    tool_use_id: z.string(),
    content: textOrBlocks(resultBlock()).optional(),
    is_error: z.boolean().optional(),
    toolset_name: hint(),
    cache_control: hint(),
  }),
);

/** What a user says: texts, and what the client's tools answered. */
export const userBlock = lazySchema((z) =>
  z.discriminatedUnion("type", [text(), toolResult()], ofAnotherType("text or tool_result")),
);

const thinking = lazySchema((z) =>
  officialObject({ type: z.literal("thinking"), thinking: z.string(), signature: hint() }),
);

/** Thoughts that another server sealed. */
const sealedThinking = lazySchema((z) =>
  officialObject({ type: z.literal("redacted_thinking"), data: hint() }),
);

/** Written in slices, since it may be megabytes. */
async function argumentsText(input: object, context: Zod.RefinementCtx): Promise<string> {
  const tooLong = `expected at most ${mostTextLength} characters of JSON`;
  try {
    const json = await jsonText(input, mostTextLength);
    if (json !== undefined) return json;
    context.addIssue({ code: "custom", message: tooLong });
  } catch (error) {
    // A number such as 1e999, which JSON can spell and nobody can write again.
    context.addIssue({ code: "custom", message: messageOf(error) });
  }
  return "{}";
}

const toolUse = lazySchema((z) =>
  officialObject({
    type: z.literal("tool_use"),
    id: z.string().min(1),
    name: z.string().min(1),
    /** As JSON text. */
    input: z.record(z.string(), z.unknown()).transform(argumentsText).optional(),
    ...{ caller: hint(), toolset_name: hint(), cache_control: hint() },
  }),
);

/** An agent's searches of an earlier turn, as clients send them back: the agent reads what was said, not what it found. */
const pastSearch = lazySchema((z) =>
  officialObject({
    type: z.literal("server_tool_use"),
    name: z.literal("web_search"),
    ...{ id: hint(), input: hint(), caller: hint(), cache_control: hint() },
  }),
);
const pastResults = lazySchema((z) =>
  officialObject({
    type: z.literal("web_search_tool_result"),
    ...{ tool_use_id: hint(), content: hint(), caller: hint(), cache_control: hint() },
  }),
);

/** What the model said. */
export const assistantBlock = lazySchema((z) =>
  z.discriminatedUnion(
    "type",
    [text(), thinking(), sealedThinking(), toolUse(), pastSearch(), pastResults()],
    ofAnotherType("text, thinking or tool_use"),
  ),
);

/** Blocks, or a text that is one block. */
export function textOrBlocks<Block extends Zod.ZodType>(block: Block) {
  const z = zod();
  const blocks = (value: unknown): unknown =>
    typeof value === "string" ? [{ type: "text", text: value }] : value;
  return z.preprocess(blocks, listField(block));
}

/** What {@link userBlock} reads. */
export type UserBlock = Zod.output<ReturnType<typeof userBlock>>;

/** What {@link assistantBlock} reads. */
export type AssistantBlock = Zod.output<ReturnType<typeof assistantBlock>>;

/** What `POST /v1/messages` reads: Anthropic's fields, each checked, others refused by name. */
import type { z as Zod } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import { toolName, toolParameters } from "../fields/tools.ts";
import { assistantBlock, cacheControl, ofAnotherType, textBlock, textOrBlocks, userBlock } from "./blocks.ts";

const toolsOfOurs = "this server runs no tools of its own";

/** A message; `system` within the conversation is a message of its own. */
const message = lazySchema((z) =>
  z.discriminatedUnion("role", [
    z.strictObject({ role: z.literal("user"), content: textOrBlocks(userBlock()) }),
    z.strictObject({ role: z.literal("assistant"), content: textOrBlocks(assistantBlock()) }),
    z.strictObject({ role: z.literal("system"), content: textOrBlocks(textBlock()) }),
  ]),
);

/** A function of the client's. */
const customTool = lazySchema((z) =>
  z.strictObject({
    type: z.literal(["custom", null]).optional(),
    name: toolName(),
    description: z.string().optional(),
    input_schema: toolParameters(),
    strict: z.boolean().optional(),
    cache_control: cacheControl(),
  }),
);

/** Anthropic's own search: agents search without being told, and here by how often at most. */
const searchTool = lazySchema((z) =>
  z.strictObject({
    type: z.literal(["web_search_20250305", "web_search_20260209", "web_search_20260318"]),
    name: z.literal("web_search"),
    max_uses: z.int().min(1).nullish(),
    cache_control: cacheControl(),
  }),
);

const tool = lazySchema((z) =>
  z.discriminatedUnion("type", [customTool(), searchTool()], ofAnotherType("custom", toolsOfOurs)),
);

const isSerial = (z: typeof Zod) => z.boolean().optional();

const toolChoice = lazySchema((z) =>
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("auto"), disable_parallel_tool_use: isSerial(z) }),
    z.strictObject({ type: z.literal("any"), disable_parallel_tool_use: isSerial(z) }),
    z.strictObject({ type: z.literal("tool"), name: z.string(), disable_parallel_tool_use: isSerial(z) }),
    z.strictObject({ type: z.literal("none") }),
  ]),
);

const display = (z: typeof Zod) => z.enum(["summarized", "omitted"]).nullish();

/** Whether the model thinks first; `budget_tokens` is part of `max_tokens` and no bound of its own. */
const thinking = lazySchema((z) =>
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1), display: display(z) }),
    z.strictObject({ type: z.literal("adaptive"), display: display(z) }),
    z.strictObject({ type: z.literal("disabled") }),
  ]),
);

const outputConfig = lazySchema((z) =>
  z.strictObject({
    effort: z.enum(["low", "medium", "high", "xhigh", "max"]).nullish(),
    format: z
      .strictObject({ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) })
      .nullish(),
  }),
);

/** The body of `POST /v1/messages/count_tokens`: a conversation. */
export const countBody = lazySchema((z) =>
  z.strictObject({
    model: z.string(),
    messages: z.array(message()).min(1),
    system: textOrBlocks(textBlock()).optional(),
    tools: z.array(tool()).optional(),
    tool_choice: toolChoice().optional(),
    thinking: thinking().optional(),
    output_config: outputConfig().optional(),
    cache_control: cacheControl(),
  }),
);

/** The body of `POST /v1/messages`. Whose request it is, and how urgent, says nothing to one process on one machine. */
export const messagesBody = lazySchema((z) =>
  countBody().extend({
    max_tokens: z.int().min(1),
    stream: z.boolean().optional(),
    stop_sequences: z.array(z.string().min(1)).max(64).optional(),
    temperature: z.number().min(0).max(1000).optional(),
    top_p: z.number().min(0).max(1).optional(),
    top_k: z.int().min(0).optional(),
    metadata: z.strictObject({ user_id: z.string().nullish() }).optional(),
    service_tier: z.enum(["auto", "standard_only"]).optional(),
  }),
);

/** What {@link countBody} reads. */
export type CountBody = Zod.output<ReturnType<typeof countBody>>;

/** What {@link messagesBody} reads. */
export type MessagesBody = Zod.output<ReturnType<typeof messagesBody>>;

/** What `POST /v1/messages` reads: Anthropic's fields, each checked, others refused by name. */

import type { z as Zod } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { listField } from "../../http/body/list-field.ts";
import { hint, notServed, officialObject } from "../fields/official.ts";
import { stopTexts } from "../fields/sampling.ts";
import { toolName, toolParameters } from "../fields/tools.ts";
import { assistantBlock, ofAnotherType, textBlock, textOrBlocks, userBlock } from "./blocks.ts";

const toolsOfOurs = "this server runs no tools of its own";

/** What of a whole answer says nothing to the next one, for clients that send it back as it came. */
const answered = lazySchema(() => ({
  ...{ id: hint(), type: hint(), model: hint(), usage: hint(), container: hint(), diagnostics: hint() },
  ...{ stop_reason: hint(), stop_sequence: hint(), stop_details: hint(), context_management: hint() },
  ...{ input_transformations: hint(), parsed_output: hint() },
}));

/** A message; `system` within the conversation is a message of its own. */
const message = lazySchema((z) =>
  z.discriminatedUnion("role", [
    officialObject({ role: z.literal("user"), content: textOrBlocks(userBlock()) }),
    officialObject({
      role: z.literal("assistant"),
      content: textOrBlocks(assistantBlock()),
      ...answered(),
    }),
    officialObject({
      role: z.literal("system"),
      content: textOrBlocks(textBlock()),
      ...{ clear_at: hint(), output_config: hint() },
    }),
  ]),
);

/** What no tool changes here: all are told at once, called by the model alone, and their arguments come as they are sampled. */
const toolHints = lazySchema(() => ({
  ...{ cache_control: hint(), defer_loading: hint(), allowed_callers: hint() },
}));

/** A function of the client's. */
const customTool = lazySchema((z) =>
  officialObject({
    type: z.literal(["custom", null]).optional(),
    name: toolName(),
    description: z.string().optional(),
    input_schema: toolParameters(),
    strict: z.boolean().optional(),
    ...toolHints(),
    ...{ eager_input_streaming: hint(), input_examples: hint() },
  }),
);

const allOfIt = "expected none: agents search all of their index";

/** Anthropic's own search: agents search without being told, and here by how often at most. */
const searchTool = lazySchema((z) =>
  officialObject({
    type: z.literal(["web_search_20250305", "web_search_20260209", "web_search_20260318"]),
    name: z.literal("web_search"),
    max_uses: z.int().min(1).optional(),
    ...{ allowed_domains: notServed(allOfIt), blocked_domains: notServed(allOfIt) },
    ...{ user_location: hint(), strict: hint(), response_inclusion: hint(), ...toolHints() },
  }),
);

const tool = lazySchema((z) =>
  z.discriminatedUnion("type", [customTool(), searchTool()], ofAnotherType("custom", toolsOfOurs)),
);

const isSerial = (z: typeof Zod) => z.boolean().optional();

const toolChoice = lazySchema((z) =>
  z.discriminatedUnion("type", [
    officialObject({ type: z.literal("auto"), disable_parallel_tool_use: isSerial(z) }),
    officialObject({ type: z.literal("any"), disable_parallel_tool_use: isSerial(z) }),
    officialObject({ type: z.literal("tool"), name: z.string(), disable_parallel_tool_use: isSerial(z) }),
    officialObject({ type: z.literal("none") }),
  ]),
);

const shown = lazySchema((z) => ({
  display: z.enum(["summarized", "omitted", "updates"]).optional(),
  block_binding: hint(),
}));

/** Whether the model thinks first; `budget_tokens` is part of `max_tokens` and no bound of its own. */
const thinking = lazySchema((z) =>
  z.discriminatedUnion("type", [
    officialObject({ type: z.literal("enabled"), budget_tokens: z.int().min(1), ...shown() }),
    officialObject({ type: z.literal("adaptive"), ...shown() }),
    officialObject({ type: z.literal("between_tools") }),
    officialObject({ type: z.literal("disabled") }),
  ]),
);

const jsonFormat = lazySchema((z) =>
  officialObject({ type: z.literal("json_schema"), schema: z.record(z.string(), z.unknown()) }),
);

const outputConfig = lazySchema((z) =>
  officialObject({
    effort: z.enum(["low", "medium", "high", "xhigh", "max"]).optional(),
    format: jsonFormat().optional(),
    task_budget: hint(),
  }),
);

const fields = lazySchema((z) => ({
  model: z.string(),
  messages: listField(message(), { min: 1 }),
  system: textOrBlocks(textBlock()).optional(),
  tools: listField(tool()).optional(),
  tool_choice: toolChoice().optional(),
  thinking: thinking().optional(),
  output_config: outputConfig().optional(),
  // What it was called before.
  output_format: jsonFormat().optional(),
  mcp_servers: notServed(`expected none: ${toolsOfOurs}`),
  compaction: notServed("expected none: nothing is left out of a conversation"),
  // Prefixes are always kept, and a conversation that is too long is refused.
  ...{ cache_control: hint(), context_management: hint(), betas: hint() },
  // Whose request it is, and how urgent, says nothing to one process on one machine.
  ...{ speed: hint(), billing_policy: hint(), user_profile_id: hint(), workspace_id: hint() },
}));

/** The body of `POST /v1/messages/count_tokens`: a conversation. */
export const countBody = lazySchema(() => officialObject(fields()));

/** What becomes of the fields of `POST /v1/messages`. */
export const messagesBody = lazySchema((z) =>
  officialObject({
    ...fields(),
    // 0 reads the prompt, which is kept.
    max_tokens: z.int().min(0),
    stream: z.boolean().optional(),
    stop_sequences: stopTexts().optional(),
    temperature: z.number().min(0).max(1000).optional(),
    top_p: z.number().min(0).max(1).optional(),
    top_k: z.int().min(0).optional(),
    container: notServed("expected none: no code is run here"),
    thread: notServed("expected none: conversations are not kept"),
    ...{ metadata: hint(), service_tier: hint(), inference_geo: hint(), diagnostics: hint() },
    ...{ fallbacks: hint(), fallback_credit_token: hint() },
  }),
);

/** What {@link countBody} reads. */
export type CountBody = Zod.output<ReturnType<typeof countBody>>;

/** What {@link messagesBody} reads. */
export type MessagesBody = Zod.output<ReturnType<typeof messagesBody>>;

/** `POST /v1/responses`: what is asked. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { Constraint } from "../../../../lib/engine/constraint/constraint.ts";
import { listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";
import type { FunctionDefinition, ReplyRequest, ServedModel } from "../../reply/reply.ts";
import { budgetFields, budgetOf } from "../fields/agent.ts";
import { effortField, effortVariables } from "../fields/effort.ts";
import { constraintOf } from "../fields/form.ts";
import { hint, notServed, officialObject } from "../fields/official.ts";
import { drawsOf, samplingFields, samplingOf } from "../fields/sampling.ts";
import {
  allowedTools,
  checkToolChoice,
  definitionOf,
  type ToolUse,
  toolName,
  toolParameters,
} from "../fields/tools.ts";
import { inputField } from "./items/input.ts";
import type { Item } from "./items/item.ts";
import { messagesOf } from "./items/messages.ts";

const functionTool = lazySchema((z) =>
  officialObject({
    type: z.literal("function"),
    name: toolName(),
    description: z.string().optional(),
    parameters: toolParameters().optional(),
    strict: z.boolean().optional(),
    // All tools are told at once, and called by the model alone.
    ...{ defer_loading: hint(), allowed_callers: hint(), output_schema: hint() },
  }),
);

/** OpenAI's search, which agents do anyway. */
const searchTool = lazySchema((z) =>
  officialObject({
    type: z.literal([
      ...["web_search", "web_search_2025_08_26"],
      ...["web_search_preview", "web_search_preview_2025_03_11"],
    ] as const),
    search_context_size: hint(),
    user_location: hint(),
    search_content_types: listField(z.literal("text", { error: "expected text alone" })).optional(),
    filters: notServed("expected none: agents search all of their index"),
    // Codex sends it with every request, whether anybody wants to search or not.
    external_web_access: hint(),
  }),
);

const tool = lazySchema((z) =>
  z.discriminatedUnion("type", [functionTool(), searchTool()], {
    error: ({ input }) =>
      `expected function, got ${String((input as { type?: unknown })?.type).slice(0, 100)}`,
  }),
);

const namedFunction = lazySchema((z) => officialObject({ type: z.literal("function"), name: toolName() }));
const mode = lazySchema((z) => z.enum(["auto", "none", "required"]));

const toolChoice = lazySchema((z) =>
  z.union(
    [
      mode(),
      namedFunction(),
      officialObject({
        type: z.literal("allowed_tools"),
        mode: mode().default("auto"),
        tools: listField(namedFunction(), { min: 1, max: 128 }),
      }),
    ],
    { error: "expected auto, none, required, {type: function, name} or {type: allowed_tools, mode, tools}" },
  ),
);

const textFormat = lazySchema((z) =>
  z.discriminatedUnion("type", [
    officialObject({ type: z.literal("text") }),
    officialObject({ type: z.literal("json_object") }),
    officialObject({
      type: z.literal("json_schema"),
      name: z.string().max(64).default("response"),
      description: z.string().optional(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().optional(),
    }),
  ]),
);

const summaries = lazySchema((z) => z.enum(["auto", "concise", "detailed"]));

const reasoning = lazySchema(() =>
  officialObject({
    effort: effortField().optional(),
    // Thoughts are told as they are, and no summary is made of them.
    summary: summaries().optional(),
    ...{ generate_summary: hint(), context: hint(), mode: hint() },
  }),
);

/** What may be told besides: of what is never there, nothing is told. */
const included = lazySchema((z) =>
  z.enum([
    ...["message.output_text.logprobs", "reasoning.encrypted_content"],
    ...["web_search_call.results", "web_search_call.action.sources", "file_search_call.results"],
    ...["message.input_image.image_url", "computer_call_output.output.image_url"],
    "code_interpreter_call.outputs",
  ] as const),
);

/** What becomes of the fields that a request over HTTP and one over a socket share; a key that is not among them is refused. */
const fields = lazySchema((z) => ({
  ...samplingFields().shape,
  model: z.string().optional(),
  input: inputField().optional(),
  instructions: z.string().optional(),
  previous_response_id: z.string().optional(),
  include: listField(included()).optional(),
  tools: listField(tool()).optional(),
  tool_choice: toolChoice().optional(),
  parallel_tool_calls: z.boolean().optional(),
  max_tool_calls: z.int().min(1).optional(),
  text: officialObject({ format: textFormat().optional(), verbosity: hint() }).optional(),
  reasoning: reasoning().optional(),
  max_output_tokens: z.int().min(1).optional(),
  top_logprobs: z.int().min(0).max(20).optional(),
  truncation: z.enum(["auto", "disabled"]).optional(),
  store: z.boolean().optional(),
  // vLLM's.
  chat_template_kwargs: z.record(z.string(), z.unknown()).optional(),
  // Ours.
  agent: budgetFields().optional(),
  // Repeated in the response.
  metadata: z.record(z.string().max(64), z.string().max(512)).optional(),
  user: z.string().optional(),
  safety_identifier: z.string().max(64).optional(),
  prompt_cache_key: z.string().max(64).optional(),
  // There is one tier, prefixes are always kept, and a conversation that is too long is refused.
  ...{ service_tier: hint(), prompt_cache_options: hint(), prompt_cache_retention: hint() },
  ...{ context_management: hint(), client_metadata: hint() },
  // Of OpenAI's service.
  conversation: notServed("conversations are not kept; expected previous_response_id, or the items"),
  prompt: notServed("prompts are not kept; expected instructions"),
  moderation: notServed("expected none: nothing is moderated here"),
}));

/** The body of a request over HTTP. */
export const createRequest = lazySchema((z) =>
  officialObject({
    ...fields(),
    stream: z.boolean().optional(),
    stream_options: officialObject({ include_obfuscation: hint() }).optional(),
    background: notServed("responses are not made in the background; expected stream", false),
  }),
);

/** A request over a socket, which always streams. */
export const socketRequest = lazySchema((z) =>
  officialObject({ ...fields(), type: z.literal("response.create") }),
);

/** A checked request. */
export type ResponseRequest = Omit<z.output<ReturnType<typeof socketRequest>>, "type">;

/** The functions as the library names them. @throws Refusal for a search where nothing searches */
function toolsOf({ tools }: ResponseRequest, model: ServedModel): FunctionDefinition[] {
  return (tools ?? []).flatMap((tool, i) => {
    if (tool.type === "function") {
      return [definitionOf(tool)];
    }
    // Only models that read one prompt have a text.
    if (model.text === undefined || tool.external_web_access !== undefined) return [];
    const why = `expected function, got ${tool.type}: of the models here only agents search`;
    throw refused(["tools", i, "type"], why);
  });
}

/** The tools that may be called, and whether one must be. */
function toolUseOf(body: ResponseRequest, model: ServedModel): ToolUse {
  const tools = toolsOf(body, model);
  const choice = body.tool_choice ?? "auto";
  if (typeof choice === "string") return { tools, toolChoice: checkToolChoice(choice, tools) };
  if (choice.type === "function") {
    return { tools, toolChoice: checkToolChoice({ name: choice.name }, tools) };
  }
  const names = choice.tools.map(({ name }) => name);
  return allowedTools(tools, names, choice.mode);
}

function formOf({ text }: ResponseRequest): Constraint | undefined {
  const format = text?.format;
  if (format?.type !== "json_schema") return constraintOf({ response_format: format });
  return constraintOf({ response_format: { type: "json_schema", json_schema: { schema: format.schema } } });
}

function variablesOf({
  reasoning,
  chat_template_kwargs,
}: ResponseRequest): ReplyRequest["templateVariables"] {
  const variables = { ...effortVariables(reasoning?.effort), ...chat_template_kwargs };
  return Object.keys(variables).length === 0 ? undefined : variables;
}

/** An agent's budget; its searches are the tools that it calls. */
function limitsOf({ agent, max_tool_calls }: ResponseRequest): ReplyRequest["budget"] {
  const budget = budgetOf(agent);
  if (max_tool_calls == null) return budget;
  return { ...budget, maxSearches: budget?.maxSearches ?? max_tool_calls };
}

/**
 * What is asked of the model.
 *
 * @param body - a checked request
 * @param asked - `items`: the conversation, the request's own items included; `model`: what is asked
 * @throws Refusal for what contradicts itself
 */
export function replyRequestOf(
  body: ResponseRequest,
  { items, model }: { readonly items: readonly Item[]; readonly model: ServedModel },
): ReplyRequest {
  const messages = messagesOf(items, body.instructions);
  if (messages.length === 0) throw refused(["input"], "expected a text, items, or previous_response_id");
  const isTold = body.top_logprobs != null || body.include?.includes("message.output_text.logprobs");
  return {
    messages,
    ...toolUseOf(body, model),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    constraint: formOf(body),
    templateVariables: variablesOf(body),
    maxTokens: body.max_output_tokens ?? undefined,
    ...drawsOf(body),
    sampling: samplingOf(body),
    n: 1,
    topLogprobs: isTold ? (body.top_logprobs ?? 0) : undefined,
    budget: limitsOf(body),
  };
}

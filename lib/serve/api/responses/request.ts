/** `POST /v1/responses`: what is asked. */
import type { z } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import type { Constraint } from "../../../engine/constraint/constraint.ts";
import { refused } from "../../http/refusal.ts";
import type { FunctionDefinition, ReplyRequest, ServedModel, ToolChoice } from "../../reply/reply.ts";
import { budgetFields, budgetOf } from "../fields/agent.ts";
import { constraintOf } from "../fields/form.ts";
import { drawsOf, samplingFields, samplingOf } from "../fields/sampling.ts";
import { checkToolChoice, definitionOf, toolName, toolParameters } from "../fields/tools.ts";
import { inputField } from "./items/input.ts";
import type { Item } from "./items/item.ts";
import { messagesOf } from "./items/messages.ts";

const functionTool = lazySchema((z) =>
  z.strictObject({
    type: z.literal("function"),
    name: toolName(),
    description: z.string().nullish(),
    parameters: toolParameters().nullish(),
    strict: z.boolean().nullish(),
  }),
);

/** OpenAI's search, which agents do anyway. */
const searchTool = lazySchema((z) =>
  z.strictObject({
    type: z.literal(["web_search", "web_search_preview"]),
    search_context_size: z.literal("medium").nullish(),
  }),
);

const tool = lazySchema((z) =>
  z.discriminatedUnion("type", [functionTool(), searchTool()], {
    error: ({ input }) =>
      `expected function, got ${String((input as { type?: unknown })?.type).slice(0, 100)}`,
  }),
);

const namedFunction = lazySchema((z) => z.strictObject({ type: z.literal("function"), name: toolName() }));
const mode = lazySchema((z) => z.enum(["auto", "none", "required"]));

const toolChoice = lazySchema((z) =>
  z.union(
    [
      mode(),
      namedFunction(),
      z.strictObject({
        type: z.literal("allowed_tools"),
        mode: mode().default("auto"),
        tools: z.array(namedFunction()).min(1).max(128),
      }),
    ],
    { error: "expected auto, none, required, {type: function, name} or {type: allowed_tools, mode, tools}" },
  ),
);

const textFormat = lazySchema((z) =>
  z.discriminatedUnion("type", [
    z.strictObject({ type: z.literal("text") }),
    z.strictObject({ type: z.literal("json_object") }),
    z.strictObject({
      type: z.literal("json_schema"),
      name: z.string().max(64).default("response"),
      description: z.string().nullish(),
      schema: z.record(z.string(), z.unknown()),
      strict: z.boolean().nullish(),
    }),
  ]),
);

const reasoning = lazySchema((z) =>
  z.strictObject({
    effort: z.enum(["none", "minimal", "low", "medium", "high", "xhigh"]).nullish(),
    // Thoughts are told as they are, and no summary is made of them.
    summary: z.enum(["auto", "concise", "detailed"]).nullish(),
  }),
);

/** What stands for a field that is not served. */
const notServed = lazySchema((z) => (why: string) => z.null({ error: why }).optional());

/** The fields that a request over HTTP and one over a socket share; a key that is not among them is refused. */
const fields = lazySchema((z) => ({
  ...samplingFields().shape,
  model: z.string().nullish(),
  input: inputField().nullish(),
  instructions: z.string().nullish(),
  previous_response_id: z.string().nullish(),
  include: z.array(z.enum(["message.output_text.logprobs", "reasoning.encrypted_content"])).nullish(),
  tools: z.array(tool()).nullish(),
  tool_choice: toolChoice().nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  max_tool_calls: z.int().min(1).nullish(),
  text: z
    .strictObject({ format: textFormat().nullish(), verbosity: z.literal("medium").nullish() })
    .nullish(),
  reasoning: reasoning().nullish(),
  max_output_tokens: z.int().min(1).nullish(),
  top_logprobs: z.int().min(0).max(20).nullish(),
  truncation: z.enum(["auto", "disabled"]).nullish(),
  store: z.boolean().nullish(),
  metadata: z.record(z.string().max(64), z.string().max(512)).nullish(),
  // vLLM's.
  chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
  // Ours.
  agent: budgetFields().nullish(),
  // Said by clients, and nothing that changes a reply.
  user: z.string().nullish(),
  safety_identifier: z.string().max(64).nullish(),
  prompt_cache_key: z.string().max(64).nullish(),
  service_tier: z.enum(["auto", "default", "flex", "priority"]).nullish(),
  // Of OpenAI's service.
  conversation: notServed()("conversations are not kept; expected previous_response_id, or the items"),
  prompt: notServed()("prompts are not kept; expected instructions"),
}));

/** The body of a request over HTTP. */
export const createRequest = lazySchema((z) =>
  z.strictObject({
    ...fields(),
    stream: z.boolean().nullish(),
    stream_options: z.strictObject({ include_obfuscation: z.literal(false).nullish() }).nullish(),
    background: z
      .literal(false, { error: "responses are not made in the background; expected stream" })
      .nullish(),
  }),
);

/** A request over a socket, which always streams. */
export const socketRequest = lazySchema((z) =>
  z.strictObject({ ...fields(), type: z.literal("response.create") }),
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
    if (model.text === undefined) return [];
    const why = `expected function, got ${tool.type}: of the models here only agents search`;
    throw refused(["tools", i, "type"], why);
  });
}

/** The tools that may be called, and whether one must be. */
interface ToolUse {
  readonly tools: readonly FunctionDefinition[];
  readonly toolChoice: ToolChoice;
}

/** Of `allowed_tools` the model learns the allowed ones alone, so that it cannot call another. */
function toolUseOf(body: ResponseRequest, model: ServedModel): ToolUse {
  const tools = toolsOf(body, model);
  const choice = body.tool_choice ?? "auto";
  if (typeof choice === "string") return { tools, toolChoice: checkToolChoice(choice, tools) };
  if (choice.type === "function") {
    return { tools, toolChoice: checkToolChoice({ name: choice.name }, tools) };
  }
  for (const { name } of choice.tools) checkToolChoice({ name }, tools);
  const allowed = tools.filter(({ name }) => choice.tools.some((each) => each.name === name));
  return { tools: allowed, toolChoice: choice.mode };
}

function formOf({ text }: ResponseRequest): Constraint | undefined {
  const format = text?.format;
  if (format?.type !== "json_schema") return constraintOf({ response_format: format });
  return constraintOf({ response_format: { type: "json_schema", json_schema: { schema: format.schema } } });
}

/** Templates switch thoughts on and off, or print how much effort they shall be. */
function variablesOf({
  reasoning,
  chat_template_kwargs,
}: ResponseRequest): ReplyRequest["templateVariables"] {
  const effort = reasoning?.effort;
  const thinking = effort == null ? {} : { enable_thinking: effort !== "none", reasoning_effort: effort };
  const variables = { ...thinking, ...chat_template_kwargs };
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

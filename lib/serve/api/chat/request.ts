/** `POST /v1/chat/completions`: what is asked. */
import type { z } from "zod";
import { lazySchema } from "../../../base/on-first-use.ts";
import type { Message } from "../../../text/templates/chat-template.ts";
import { refused } from "../../http/refusal.ts";
import type { ReplyRequest } from "../../reply/reply.ts";
import { budgetFields, budgetOf } from "../fields/agent.ts";
import { contentField, textOf } from "../fields/content.ts";
import { continuedFields, continuesLast } from "../fields/continued.ts";
import { constraintOf, responseFormat } from "../fields/form.ts";
import { drawsOf, samplingFields, samplingOf } from "../fields/sampling.ts";
import { chatToolChoice, chatTools, toolChoiceOf, toolsOf } from "../fields/tools.ts";

const toolCall = lazySchema((z) =>
  z.strictObject({
    id: z.string(),
    type: z.literal("function"),
    function: z.strictObject({ name: z.string(), arguments: z.string() }),
    index: z.int().optional(),
  }),
);

/** A message as OpenAI's clients send it. */
export const chatMessage = lazySchema((z) =>
  z.strictObject({
    role: z.enum(["system", "developer", "user", "assistant", "tool", "function"]),
    content: contentField().nullish(),
    name: z.string().nullish(),
    tool_call_id: z.string().nullish(),
    tool_calls: z.array(toolCall()).nullish(),
    reasoning_content: z.string().nullish(),
    refusal: z.string().nullish(),
    annotations: z.array(z.unknown()).nullish(),
  }),
);

/** What {@link chatMessage} reads. */
export type ChatMessage = z.output<ReturnType<typeof chatMessage>>;

/** The fields of a request; a key that is not among them is refused. */
export const chatRequest = lazySchema((z) =>
  z.strictObject({
    ...samplingFields().shape,
    model: z.string().nullish(),
    messages: z.array(chatMessage()).min(1),
    max_tokens: z.int().min(1).nullish(),
    max_completion_tokens: z.int().min(1).nullish(),
    n: z.int().min(1).nullish(),
    stream: z.boolean().nullish(),
    stream_options: z.strictObject({ include_usage: z.boolean().nullish() }).nullish(),
    logprobs: z.boolean().nullish(),
    top_logprobs: z.int().min(0).max(20).nullish(),
    response_format: responseFormat().nullish(),
    tools: chatTools().nullish(),
    tool_choice: chatToolChoice().nullish(),
    parallel_tool_calls: z.boolean().nullish(),
    // vLLM's and llama.cpp's.
    ...continuedFields().shape,
    chat_template_kwargs: z.record(z.string(), z.unknown()).nullish(),
    grammar: z.string().min(1).nullish(),
    json_schema: z.record(z.string(), z.unknown()).nullish(),
    return_token_ids: z.boolean().nullish(),
    // Ours.
    agent: budgetFields().nullish(),
    // Said by clients, and nothing that changes a reply: prefixes are always kept, and sequences have no slots.
    cache_prompt: z.boolean().nullish(),
    id_slot: z.int().nullish(),
    user: z.string().nullish(),
    metadata: z.record(z.string(), z.string()).nullish(),
    store: z.boolean().nullish(),
    service_tier: z.string().nullish(),
    safety_identifier: z.string().nullish(),
    prompt_cache_key: z.string().nullish(),
  }),
);

/** A checked body. */
export type ChatRequest = z.output<ReturnType<typeof chatRequest>>;

/** The messages as chat templates read them. @throws Refusal for content that is no text */
export function messagesOf(messages: readonly ChatMessage[]): Message[] {
  return messages.map(({ role, content, tool_calls, tool_call_id, name, reasoning_content }, i) => ({
    // What newer models call developer is the system's part in every template.
    role: role === "developer" ? "system" : role === "function" ? "tool" : role,
    content: content == null ? "" : textOf(content, ["messages", i, "content"]),
    ...(tool_calls != null && tool_calls.length > 0 ? { tool_calls } : {}),
    ...(tool_call_id == null ? {} : { tool_call_id }),
    ...(name == null ? {} : { name }),
    ...(reasoning_content == null ? {} : { reasoning_content }),
  }));
}

/** What is asked of the model. @throws Refusal for what contradicts itself, or what no served model reads */
export function replyRequestOf(body: ChatRequest): ReplyRequest {
  const tools = toolsOf(body.tools);
  const { logprobs, top_logprobs, chat_template_kwargs } = body;
  if (top_logprobs != null && !logprobs) throw refused(["top_logprobs"], "expected logprobs: true beside it");
  const messages = messagesOf(body.messages);
  const goesOn = continuesLast(body, messages);
  if (body.add_generation_prompt === false && !goesOn) {
    throw refused(["add_generation_prompt"], "expected continue_final_message: true beside false");
  }
  return {
    messages,
    continuesLast: goesOn,
    tools,
    toolChoice: toolChoiceOf(body.tool_choice, tools),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    constraint: constraintOf(body),
    templateVariables: chat_template_kwargs ?? undefined,
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    ...drawsOf(body),
    sampling: samplingOf(body),
    n: body.n ?? 1,
    topLogprobs: logprobs ? (top_logprobs ?? 0) : undefined,
    budget: budgetOf(body.agent),
  };
}

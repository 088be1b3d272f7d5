/** `POST /v1/chat/completions`: what is asked. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import { listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";
import type { ReplyRequest } from "../../reply/reply.ts";
import { budgetFields, budgetOf } from "../fields/agent.ts";
import { continuedFields, continuesLast } from "../fields/continued.ts";
import { effortField, effortVariables } from "../fields/effort.ts";
import { constraintOf, responseFormat } from "../fields/form.ts";
import { hint, notServed, officialObject } from "../fields/official.ts";
import { drawsOf, samplingFields, samplingOf } from "../fields/sampling.ts";
import { chatToolChoice, chatTools, toolUseOf } from "../fields/tools.ts";
import { chatMessage, messagesOf } from "./message.ts";

/** `stream_options` of both completions. */
export const streamOptions = lazySchema((z) =>
  officialObject({ include_usage: z.boolean().optional(), include_obfuscation: hint() }),
);

/** What becomes of the fields of a request; a key that is not among them is refused. */
export const chatRequest = lazySchema((z) =>
  officialObject({
    ...samplingFields().shape,
    model: z.string().optional(),
    messages: listField(chatMessage(), { min: 1 }),
    max_tokens: z.int().min(1).optional(),
    max_completion_tokens: z.int().min(1).optional(),
    n: z.int().min(1).optional(),
    stream: z.boolean().optional(),
    stream_options: streamOptions().optional(),
    logprobs: z.boolean().optional(),
    top_logprobs: z.int().min(0).max(20).optional(),
    response_format: responseFormat().optional(),
    tools: chatTools().optional(),
    tool_choice: chatToolChoice().optional(),
    parallel_tool_calls: z.boolean().optional(),
    reasoning_effort: effortField().optional(),
    modalities: listField(z.literal("text", { error: "expected text alone" })).optional(),
    audio: notServed("expected none: models here write texts"),
    functions: notServed("expected tools"),
    function_call: notServed("expected tool_choice", "none", "auto"),
    moderation: notServed("expected none: nothing is moderated here"),
    web_search_options: notServed("expected none: agents search without being told, other models not at all"),
    // vLLM's and llama.cpp's.
    ...continuedFields().shape,
    chat_template_kwargs: z.record(z.string(), z.unknown()).optional(),
    grammar: z.string().min(1).optional(),
    json_schema: z.record(z.string(), z.unknown()).optional(),
    return_token_ids: z.boolean().optional(),
    // Ours.
    agent: budgetFields().optional(),
    // Prefixes are always kept, sequences have no slots, and there is one tier, whoever asks.
    ...{ cache_prompt: hint(), id_slot: hint() },
    ...{ prompt_cache_key: hint(), prompt_cache_options: hint(), prompt_cache_retention: hint() },
    ...{ user: hint(), metadata: hint(), store: hint(), service_tier: hint(), safety_identifier: hint() },
    ...{ verbosity: hint(), prediction: hint() },
  }),
);

/** A checked body. */
export type ChatRequest = z.output<ReturnType<typeof chatRequest>>;

function variablesOf({
  reasoning_effort,
  chat_template_kwargs,
}: ChatRequest): ReplyRequest["templateVariables"] {
  const variables = { ...effortVariables(reasoning_effort), ...chat_template_kwargs };
  return Object.keys(variables).length === 0 ? undefined : variables;
}

/** What is asked of the model. @throws Refusal for what contradicts itself, or what no served model reads */
export function replyRequestOf(body: ChatRequest): ReplyRequest {
  const { logprobs, top_logprobs } = body;
  if (top_logprobs != null && !logprobs) throw refused(["top_logprobs"], "expected logprobs: true beside it");
  const messages = messagesOf(body.messages);
  const goesOn = continuesLast(body, messages);
  if (body.add_generation_prompt === false && !goesOn) {
    throw refused(["add_generation_prompt"], "expected continue_final_message: true beside false");
  }
  return {
    messages,
    continuesLast: goesOn,
    ...toolUseOf(body),
    parallelToolCalls: body.parallel_tool_calls ?? true,
    constraint: constraintOf(body),
    templateVariables: variablesOf(body),
    maxTokens: body.max_completion_tokens ?? body.max_tokens ?? undefined,
    ...drawsOf(body),
    sampling: samplingOf(body),
    n: body.n ?? 1,
    topLogprobs: logprobs ? (top_logprobs ?? 0) : undefined,
    budget: budgetOf(body.agent),
  };
}

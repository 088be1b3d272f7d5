/** A response as it is told and kept: what was asked, how far it is, what came of it. */
import { secondsNow } from "../../reply/ids.ts";
import type { ServedModel } from "../../reply/reply.ts";
import type { Usage } from "../fields/usage.ts";
import type { Item } from "./items/item.ts";
import type { ResponseRequest } from "./request.ts";

/** How far a response is. */
export type ResponseStatus = "in_progress" | "completed" | "incomplete" | "failed";

/** What came of a response so far. */
interface ResponseOutcome {
  readonly status: ResponseStatus;
  readonly output: readonly Item[];
  readonly usage: object | null;
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** What was asked, with the defaults that stood for what was not. */
export interface ResponseHead {
  readonly id: string;
  readonly object: "response";
  readonly created_at: number;
  readonly model: string;
  readonly store: boolean;
  readonly [field: string]: unknown;
}

/** A response. */
export interface ResponseObject extends ResponseHead, ResponseOutcome {
  readonly completed_at: number | null;
  readonly incomplete_details: { readonly reason: string } | null;
}

function textOf({ text }: ResponseRequest): object {
  const format = text?.format ?? { type: "text" };
  if (format.type !== "json_schema") return { format, verbosity: "medium" };
  const { name, description = null, schema, strict } = format;
  return {
    format: { type: "json_schema", name, description, schema, strict: strict ?? true },
    verbosity: "medium",
  };
}

/** How tokens were asked to be drawn. */
function samplingOf(body: ResponseRequest, { sampling = {} }: Pick<ServedModel, "sampling">): object {
  return {
    temperature: body.temperature ?? sampling.temperature ?? 1,
    top_p: body.top_p ?? sampling.topP ?? 1,
    presence_penalty: body.presence_penalty ?? sampling.presencePenalty ?? 0,
    frequency_penalty: body.frequency_penalty ?? sampling.frequencyPenalty ?? 0,
    top_logprobs: body.top_logprobs ?? 0,
    max_output_tokens: body.max_output_tokens ?? null,
  };
}

function toolsOf({ tools, tool_choice, parallel_tool_calls, max_tool_calls }: ResponseRequest): object {
  return {
    tools: (tools ?? []).map((tool) => {
      if (tool.type !== "function") return tool;
      const { type, name, description = null, parameters = null, strict } = tool;
      return { type, name, description, parameters, strict: strict ?? false };
    }),
    tool_choice: tool_choice ?? "auto",
    parallel_tool_calls: parallel_tool_calls ?? true,
    max_tool_calls: max_tool_calls ?? null,
  };
}

/**
 * A request as its response repeats it.
 *
 * @param body - the checked request
 * @param id - of the response
 * @param model - what replies
 */
export function headOf(
  body: ResponseRequest,
  { id, model }: { readonly id: string; readonly model: Pick<ServedModel, "id" | "sampling"> },
): ResponseHead {
  return {
    id,
    object: "response",
    created_at: secondsNow(),
    model: model.id,
    previous_response_id: body.previous_response_id ?? null,
    instructions: body.instructions ?? null,
    ...toolsOf(body),
    ...samplingOf(body, model),
    text: textOf(body),
    reasoning: { effort: body.reasoning?.effort ?? null, summary: body.reasoning?.summary ?? null },
    truncation: body.truncation ?? "disabled",
    store: body.store ?? true,
    background: false,
    // There is one tier, whatever was hoped for.
    service_tier: "default",
    metadata: body.metadata ?? {},
    user: body.user ?? null,
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
  };
}

/** The whole of a response. */
export function resourceOf(head: ResponseHead, outcome: ResponseOutcome): ResponseObject {
  const { status } = outcome;
  return {
    ...head,
    completed_at: status === "completed" ? secondsNow() : null,
    incomplete_details: status === "incomplete" ? { reason: "max_output_tokens" } : null,
    ...outcome,
  };
}

/** Counts of tokens as responses write them. */
export function usageOf({ numPrompt, numCached, numSampled, numReasoning }: Usage): object {
  return {
    input_tokens: numPrompt,
    input_tokens_details: { cached_tokens: numCached },
    output_tokens: numSampled,
    output_tokens_details: { reasoning_tokens: numReasoning },
    total_tokens: numPrompt + numSampled,
  };
}

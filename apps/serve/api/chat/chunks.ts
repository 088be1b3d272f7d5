/** A chat completion as it comes: one chunk an event. */
import type { SentEvent } from "../../http/event-stream.ts";
import type { ReplyEvent } from "../../reply/reply.ts";
import { logprobsOf } from "../fields/logprobs.ts";
import { Usage } from "../fields/usage.ts";
import { annotationOf, searchOf, type TokenTelling } from "./choice.ts";
import { DrawnIds } from "./drawn-ids.ts";

/** What stands in every chunk, and what is told. */
export interface ChatChunkOptions {
  readonly head: { readonly id: string; readonly created: number; readonly model: string };
  readonly told: TokenTelling;
  /** Whether a last chunk tells how many tokens there were. */
  readonly hasUsage: boolean;
}

/** What an event adds to the message. */
function deltaOf(event: ReplyEvent): object {
  switch (event.type) {
    case "start":
      return { role: "assistant", content: null };
    case "text":
      return { content: event.text };
    case "reasoning":
      return { reasoning_content: event.text };
    case "toolCall": {
      const { index, id, name } = event;
      return { tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] };
    }
    case "toolArguments":
      return { tool_calls: [{ index: event.index, function: { arguments: event.text } }] };
    case "search":
      return { seekrl: { search: searchOf(event) } };
    case "citation":
      return { annotations: [annotationOf(event)] };
    case "finish":
      return {};
  }
}

/** Whether an event says something; one may hold tokens whose text is still to come. */
function isTold(event: ReplyEvent, { logprobs, ids }: TokenTelling): boolean {
  return !("text" in event) || event.text !== "" || ((logprobs || ids) && event.tokens.length > 0);
}

function choiceOf(event: ReplyEvent, { logprobs }: TokenTelling, ids: readonly number[] | undefined): object {
  const tokens = "tokens" in event ? event.tokens : [];
  const isText = event.type === "text";
  return {
    index: event.choice,
    delta: deltaOf(event),
    logprobs: logprobs && isText ? { content: logprobsOf(tokens), refusal: null } : null,
    finish_reason: event.type === "finish" ? event.reason : null,
    ...(event.type === "finish" ? { stop_reason: event.stopText ?? null } : {}),
    ...(ids ? { token_ids: ids } : {}),
  };
}

/**
 * The chunks of a reply.
 *
 * @param reply - its events
 * @param options - what is told in them
 * @returns events to send, `[DONE]` at the end
 */
export async function* chatChunks(
  reply: AsyncGenerator<ReplyEvent, void, undefined>,
  { head, told, hasUsage }: ChatChunkOptions,
): AsyncGenerator<SentEvent, void, undefined> {
  const usage = new Usage();
  const shared = { ...head, object: "chat.completion.chunk" };
  const blank = hasUsage ? { usage: null } : {};
  const drawn = new Map<number, DrawnIds>();
  for await (const event of reply) {
    usage.add(event);
    if (event.type === "start") drawn.set(event.choice, new DrawnIds());
    const ids = told.ids ? drawn.get(event.choice)?.next(event) : undefined;
    if (!isTold(event, told)) continue;
    const isStart = event.type === "start" && told.ids;
    const prompt = isStart ? { prompt_token_ids: [...(event.promptIds ?? [])] } : {};
    yield { data: { ...shared, choices: [choiceOf(event, told, ids)], ...blank, ...prompt } };
  }
  if (hasUsage) yield { data: { ...shared, choices: [], usage } };
  yield { data: "[DONE]" };
}

/** A completion as it comes: one chunk an event. */
import type { SentEvent } from "../../http/event-stream.ts";
import type { ReplyEvent } from "../../reply/reply.ts";
import { Usage } from "../fields/usage.ts";
import { type CompletionTelling, completionLogprobs, endOf } from "./choice.ts";

/** What stands in every chunk, and what is told. */
export interface CompletionChunkOptions {
  readonly head: { readonly id: string; readonly created: number; readonly model: string };
  readonly told: CompletionTelling;
  readonly hasUsage: boolean;
}

function choiceOf(event: ReplyEvent, offset: number, { logprobs, ids, echoed }: CompletionTelling): object {
  const isStart = event.type === "start";
  const all = "tokens" in event ? event.tokens : [];
  const tokens = event.type === "text" || ids ? all : [];
  return {
    index: event.choice,
    text: isStart ? echoed : event.type === "text" ? event.text : "",
    logprobs: logprobs ? completionLogprobs(isStart ? (event.promptTokens ?? []) : tokens, offset) : null,
    ...(event.type === "finish"
      ? endOf(event.reason, event.stopText)
      : { finish_reason: null, stop_reason: null }),
    ...(ids && isStart ? { prompt_token_ids: [...(event.promptIds ?? [])] } : {}),
    ...(ids ? { token_ids: all.map(({ id }) => id) } : {}),
    ...(ids && event.type === "finish" ? { weights_version: event.weightsVersion } : {}),
  };
}

/** Whether an event says something. */
function isTold(event: ReplyEvent, { logprobs, ids, echoed }: CompletionTelling): boolean {
  if (event.type === "start") return echoed !== "" || ids || event.promptTokens !== undefined;
  return event.type === "finish" || ("text" in event && (event.text !== "" || logprobs || ids));
}

/**
 * The chunks of a reply.
 *
 * @param reply - its events
 * @param options - what is told in them
 * @returns events to send, `[DONE]` at the end
 */
export async function* completionChunks(
  reply: AsyncGenerator<ReplyEvent, void, undefined>,
  { head, told, hasUsage, n }: CompletionChunkOptions & { readonly n: number },
): AsyncGenerator<SentEvent, void, undefined> {
  const usage = new Usage(n);
  const shared = { ...head, object: "text_completion" };
  const blank = hasUsage ? { usage: null } : {};
  const offsets = new Map<number, number>();
  for await (const event of reply) {
    usage.add(event);
    const offset = offsets.get(event.choice) ?? 0;
    const text = event.type === "start" ? told.echoed : event.type === "text" ? event.text : "";
    offsets.set(event.choice, offset + text.length);
    if (!isTold(event, told)) continue;
    yield { data: { ...shared, choices: [choiceOf(event, offset, told)], ...blank } };
  }
  if (hasUsage) yield { data: { ...shared, choices: [], usage } };
  yield { data: "[DONE]" };
}

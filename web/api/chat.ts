/** Requests to the model server: its models, replies as they are written, feedback. */
import type { ReplyChunk } from "../base/chat/reply.ts";
import { ask, askEvents, askJson, Refused } from "./http.ts";

/** Names of what can be talked to. @throws Refused */
export async function getModels(signal?: AbortSignal): Promise<string[]> {
  const { data } = await askJson<{ data: readonly { id: string }[] }>("/v1/models", { signal });
  return data.map(({ id }) => id);
}

/** What a reply is asked with, as the server names it. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly { readonly role: string; readonly content: string }[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly max_tokens?: number;
  readonly seed?: number;
  /** Of agents only. */
  readonly agent?: {
    readonly max_searches?: number;
    readonly top_k?: number;
    readonly deadline_ms?: number;
  };
}

/** Whether a model is an agent, which searches, and takes a budget. */
export const isAgent = (model: string): boolean => model.startsWith("agent/");

/** The chunks of a reply, until the signal fires. @throws Refused, also when the reply fails on its way */
export async function* chatChunks(request: ChatRequest, signal: AbortSignal): AsyncGenerator<ReplyChunk> {
  const body = { ...request, stream: true, stream_options: { include_usage: true } };
  for await (const { data } of askEvents("/v1/chat/completions", { body, signal })) {
    if (data === "[DONE]") return;
    const chunk = JSON.parse(data) as ReplyChunk & { error?: { message?: string } };
    if (chunk.error) throw new Refused(200, chunk.error.message ?? "the reply failed");
    yield chunk;
  }
}

/** Tells the server what a reply was worth: 1 good, 0 bad. @throws Refused */
export async function sendFeedback(responseId: string, reward: 0 | 1): Promise<void> {
  await ask("/v1/feedback", { body: { response_id: responseId, reward } });
}

/** A served model that calls a tool first, and answers once it has read a result. */
import type { ReplyEvent, ReplyRequest, ServedModel } from "../../../apps/serve/reply/reply.ts";

interface Said {
  readonly name: string;
  /** Of the arguments. */
  readonly pieces: readonly string[];
  readonly answer: string;
}

/** The model, and what it was asked. */
export function callingModel({
  name,
  pieces,
  answer,
}: Said): ServedModel & { readonly requests: ReplyRequest[] } {
  const requests: ReplyRequest[] = [];
  const choice = 0;
  const end = { tokens: [], numTokens: 4, numReasoningTokens: 1, weightsVersion: 1 };
  async function* reply(request: ReplyRequest): AsyncGenerator<ReplyEvent, void, undefined> {
    requests.push(request);
    yield { type: "start", choice, numPromptTokens: 3, numCachedTokens: 1 };
    if (request.messages.at(-1)?.role === "tool") {
      yield { type: "reasoning", choice, text: "I know.", tokens: [] };
      yield { type: "text", choice, text: answer, tokens: [] };
      yield { type: "finish", choice, reason: "stop", ...end };
      return;
    }
    yield { type: "reasoning", choice, text: "Let me see.", tokens: [] };
    yield { type: "toolCall", choice, index: 0, id: "call-1", name };
    for (const text of pieces) yield { type: "toolArguments", choice, index: 0, text, tokens: [] };
    yield { type: "finish", choice, reason: "tool_calls", ...end };
  }
  return { id: "calling", contextTokens: 100, requests, reply };
}

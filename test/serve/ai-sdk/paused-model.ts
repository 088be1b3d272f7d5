/** A served model that waits before each further piece of its answer until it is told to go on. */
import type { ReplyEvent, ReplyRequest, ServedModel } from "../../../apps/serve/reply/reply.ts";

/** The model; `goOn` lets it say its next piece. */
export function pausedModel(pieces: readonly string[]): ServedModel & { readonly goOn: () => void } {
  const choice = 0;
  const end = { tokens: [], numTokens: pieces.length, numReasoningTokens: 0, weightsVersion: 1 };
  let goOn = (): void => {};
  const paused = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => {
      goOn = resolve;
      signal.addEventListener("abort", () => reject(signal.reason));
    });
  async function* reply(_: ReplyRequest, signal: AbortSignal): AsyncGenerator<ReplyEvent, void, undefined> {
    yield { type: "start", choice, numPromptTokens: 3, numCachedTokens: 0 };
    for (const text of pieces) {
      const next = paused(signal);
      yield { type: "text", choice, text, tokens: [] };
      await next;
    }
    yield { type: "finish", choice, reason: "stop", ...end };
  }
  return { id: "paused", contextTokens: 100, reply, goOn: () => goOn() };
}

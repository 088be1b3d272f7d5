/** Replies of models, in few words. */
import type { ReplyEvent } from "../../../apps/serve/reply/reply.ts";
import type { SampledToken } from "../../../apps/serve/reply/tokens.ts";

/** One token for each character, less likely from one to the next. */
function charTokens(text: string): SampledToken[] {
  return [...text].map((char, i) => {
    const token = { id: char.codePointAt(0) ?? 0, logprob: i === 0 ? 0 : -i / 8, bytes: Buffer.from(char) };
    return { ...token, top: [token] };
  });
}

/** The first event of a reply. */
export const start: ReplyEvent = { type: "start", choice: 0, numPromptTokens: 7, numCachedTokens: 4 };

/** Words, in the pieces given. */
export function words(...pieces: string[]): ReplyEvent[] {
  return pieces.map((text) => ({ type: "text", choice: 0, text, tokens: charTokens(text) }));
}

/** Thoughts, in the pieces given. */
export function thoughts(...pieces: string[]): ReplyEvent[] {
  return pieces.map((text) => ({ type: "reasoning", choice: 0, text, tokens: charTokens(text) }));
}

/** A call, its arguments in the pieces given. */
export function called(
  { index, id, name }: { index: number; id: string; name: string },
  ...pieces: string[]
): ReplyEvent[] {
  const rest = pieces.map(
    (text): ReplyEvent => ({ type: "toolArguments", choice: 0, index, text, tokens: [] }),
  );
  return [{ type: "toolCall", choice: 0, index, id, name }, ...rest];
}

/** The last event of a reply. */
export function finish(reason: "stop" | "length" | "tool_calls" = "stop"): ReplyEvent {
  const counts = { numTokens: 9, numReasoningTokens: 3, weightsVersion: 0 };
  return { type: "finish", choice: 0, reason, tokens: [], ...counts };
}

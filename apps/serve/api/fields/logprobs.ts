/** Log-probabilities as OpenAI's protocols write them. */
import type { LikelyToken, SampledToken } from "../../reply/tokens.ts";

/** Stands for minus infinity, which JSON has not. */
const leastLogprob = -9999;

/** A log-probability as JSON can say it. */
export const finite = (logprob: number): number => Math.max(leastLogprob, logprob);

const utf8 = new TextDecoder();

function likely({ id, logprob, bytes }: LikelyToken) {
  return {
    token: utf8.decode(bytes),
    logprob: finite(logprob),
    bytes: [...bytes],
    id,
  };
}

/** One entry a token, with the likely ones in its place; `id` is not OpenAI's. */
export function logprobsOf(tokens: readonly SampledToken[]) {
  return tokens.map((token) => ({ ...likely(token), top_logprobs: (token.top ?? []).map(likely) }));
}

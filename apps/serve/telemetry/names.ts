/** Names of OpenTelemetry's conventions for generative AI, and the bounds of its histograms. */
import type { Attributes, Histogram } from "@opentelemetry/api";
import type { ReplyRequest, ServedModel } from "../reply/reply.ts";

/** Who generates, by the conventions' key for it. */
export const provider = { "gen_ai.provider.name": "seekrl" } as const;

/** Seconds; the bounds are those that the conventions advise. */
export const histograms = {
  duration: {
    name: "gen_ai.server.request.duration",
    description: "From a request to the end of its reply",
    bounds: [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
  },
  first: {
    name: "gen_ai.server.time_to_first_token",
    description: "From a request to the first token of its reply",
    bounds: [0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10],
  },
  perToken: {
    name: "gen_ai.server.time_per_output_token",
    description: "Between two tokens of a reply, behind the first one",
    bounds: [0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 2.5],
  },
} as const;

/** Times of replies, seconds. */
export interface ReplyHistograms {
  readonly duration: Histogram;
  readonly first: Histogram;
  readonly perToken: Histogram;
}

/** What a model is asked to do: agents, which read prompts of their own, are invoked. */
export function operationOf(
  { text }: Pick<ServedModel, "text">,
  { promptIds }: Pick<ReplyRequest, "promptIds">,
): "chat" | "text_completion" | "invoke_agent" {
  if (text === undefined) return "invoke_agent";
  return promptIds === undefined ? "chat" : "text_completion";
}

/** What a request says of its sampling; nothing of its words. */
export function requestAttributes({ sampling, maxTokens, seed, stop, n }: ReplyRequest): Attributes {
  return {
    "gen_ai.request.max_tokens": maxTokens,
    "gen_ai.request.temperature": sampling.temperature,
    "gen_ai.request.top_p": sampling.topP,
    "gen_ai.request.top_k": sampling.topK,
    "gen_ai.request.frequency_penalty": sampling.frequencyPenalty,
    "gen_ai.request.presence_penalty": sampling.presencePenalty,
    "gen_ai.request.seed": seed,
    ...(stop.length > 0 ? { "gen_ai.request.stop_sequences": [...stop] } : {}),
    ...(n > 1 ? { "gen_ai.request.choice.count": n } : {}),
  };
}

/** How replies are sampled, by llama.cpp's names. */
import type { ReplyRequest, ServedModel } from "../../reply/reply.ts";

/**
 * The settings of a request.
 *
 * @param model - whose sampling stands where the request says nothing
 * @param request - what it says
 * @param isStreamed - whether it comes piece by piece
 */
export function settingsOf(
  model: Pick<ServedModel, "sampling">,
  request: Pick<ReplyRequest, "sampling" | "maxTokens" | "seed" | "stop" | "topLogprobs">,
  isStreamed: boolean,
): object {
  const { maxTokens, seed, stop, topLogprobs } = request;
  const sampling = { ...model.sampling, ...request.sampling };
  return {
    n_predict: maxTokens ?? -1,
    seed: seed ?? -1,
    temperature: sampling.temperature ?? 1,
    top_k: sampling.topK ?? 0,
    top_p: sampling.topP ?? 1,
    min_p: sampling.minP ?? 0,
    repeat_penalty: sampling.repetitionPenalty ?? 1,
    presence_penalty: sampling.presencePenalty ?? 0,
    frequency_penalty: sampling.frequencyPenalty ?? 0,
    stop,
    n_probs: topLogprobs ?? 0,
    stream: isStreamed,
  };
}

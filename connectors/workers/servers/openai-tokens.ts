/** Completions with token ids, as vLLM and SeekRL's server answer `POST /v1/completions` with `return_token_ids`. */
import { SeekError } from "../../../lib/base/errors.ts";
import { lazySchema } from "../../../lib/base/on-first-use.ts";
import { Fault } from "../../remote/fault.ts";
import { checkedTokens, type SampledTokens, type ServerParts, type TokenRequest } from "./token-server.ts";

const answer = lazySchema((z) =>
  z.looseObject({
    choices: z
      .array(
        z.looseObject({
          finish_reason: z.string().nullish(),
          stop_reason: z.union([z.string(), z.number()]).nullish(),
          token_ids: z.array(z.int()).nullish(),
          prompt_token_ids: z.array(z.int()).nullish(),
          logprobs: z.looseObject({ token_logprobs: z.array(z.number().nullable()) }).nullish(),
          weights_version: z.int().nullish(),
        }),
      )
      .min(1),
  }),
);

/** What a completion says of how it was sampled. */
type Told = Omit<SampledTokens, "isApproximate" | "version"> & {
  readonly weightsVersion: number | undefined;
};

/** The fields of a request that both servers take; every draw is the policy's own, whatever the server's defaults are. */
export function completionBody(
  model: string,
  { ids, maxTokens, stop, temperature, topP }: TokenRequest,
): object {
  return {
    ...{ model, prompt: [...ids], max_tokens: maxTokens, n: 1, temperature, top_p: topP },
    ...{ top_k: -1, min_p: 0, repetition_penalty: 1, presence_penalty: 0, frequency_penalty: 0 },
    ...{ stop: stop.length === 0 ? undefined : stop, logprobs: 0, return_token_ids: true },
  };
}

/**
 * Asks for a completion.
 *
 * @param parts - of the server
 * @param body - see {@link completionBody}
 * @param request - what it was made of
 * @throws ERR_REMOTE for what is no completion with ids of the prompt that was sent; ERR_ABORTED
 */
export async function completeTokens(
  { sampling, vocabSize }: ServerParts,
  body: object,
  { ids, signal }: TokenRequest,
): Promise<Told> {
  const { choices } = await sampling.call({
    ...{ url: sampling.at("v1", "completions"), body, expect: answer(), signal },
    judge: ({ choices: [only] }) => checkFinish(only?.finish_reason),
  });
  const [choice] = choices;
  const { token_ids, prompt_token_ids, logprobs, finish_reason, stop_reason, weights_version } = choice ?? {};
  if (token_ids == null) {
    const remedy = "Remedy: vLLM 0.10.2 or later, SGLang, or seekrl serve";
    throw new SeekError("ERR_REMOTE", `expected token_ids in a completion, got none. ${remedy}`);
  }
  checkPrompt(ids, prompt_token_ids);
  return {
    ...checkedTokens({ ids: token_ids, logprobs: logprobs?.token_logprobs ?? [] }, vocabSize),
    finish: finish_reason === "length" ? "length" : "stop",
    stopText: typeof stop_reason === "string" ? stop_reason : undefined,
    weightsVersion: weights_version ?? undefined,
  };
}

/** @throws Fault for a turn that the server ended for reasons of its own, such as a pause: it may be asked again */
export function checkFinish(reason: string | null | undefined): void {
  if (reason === "stop" || reason === "length") return;
  throw new Fault(`finish_reason: expected stop or length, got ${reason ?? "none"}`, { mayRetry: true });
}

/** @throws ERR_REMOTE for other ids than were sent */
function checkPrompt(sent: Int32Array, read: readonly number[] | null | undefined): void {
  if (read == null) return;
  const isSame = read.length === sent.length && read.every((id, i) => id === sent[i]);
  if (isSame) return;
  const got = `${read.length} ids, others than those`;
  throw new SeekError("ERR_REMOTE", `expected the ${sent.length} ids of the prompt to be read, got ${got}`);
}

/** How tokens are drawn, as requests say it. */

import type { z } from "zod";
import { lazySchema } from "../../../../lib/base/on-first-use.ts";
import type { SamplingOptions } from "../../../../lib/engine/sampling-options.ts";
import { listField } from "../../http/body/list-field.ts";
import { refused } from "../../http/refusal.ts";
import type { SampleRequest } from "../../reply/reply.ts";

/** Tokens with a bias; OpenAI has at most 1,024. */
const mostBiases = 10_000;

/** Characters of a text that ends an answer: every token is compared with its beginnings. */
const mostStopCharacters = 1000;

/** Texts that end an answer. */
export const stopTexts = lazySchema((z) => listField(z.string().min(1).max(mostStopCharacters), { max: 64 }));

/** The fields that OpenAI's protocols share, and those that vLLM and llama.cpp add under the same names. */
export const samplingFields = lazySchema((z) =>
  z.object({
    temperature: z.number().min(0).max(1000).nullish(),
    top_p: z.number().min(0).max(1).nullish(),
    top_k: z.int().min(-1).nullish(),
    min_p: z.number().min(0).max(1).nullish(),
    presence_penalty: z.number().min(-2).max(2).nullish(),
    frequency_penalty: z.number().min(-2).max(2).nullish(),
    repetition_penalty: z.number().min(0.01).max(100).nullish(),
    logit_bias: z
      .custom<Record<string, unknown>>(
        (value) => typeof value !== "object" || Object.keys(value ?? {}).length <= mostBiases,
        {
          error: `expected at most ${mostBiases} tokens`,
          abort: true,
        },
      )
      .pipe(z.record(z.string().regex(/^\d+$/), z.number().min(-100).max(100)))
      .nullish(),
    seed: z.int().nullish(),
    stop: z.preprocess((value) => (typeof value === "string" ? [value] : value), stopTexts()).nullish(),
  }),
);

/** What is read of {@link samplingFields}. */
type SamplingFields = Readonly<Partial<z.output<ReturnType<typeof samplingFields>>>>;

/** Below it a temperature draws the most likely token, as 0 does. */
const leastTemperature = 1e-3;

/** Of the most unlikely tokens: OpenAI's bias of -100 bans. */
const bannedBias = -100;

function biasesOf(bias: Readonly<Record<string, number>>): Record<number, number> {
  const entries = Object.entries(bias).map(([id, value]) => [
    Number(id),
    value <= bannedBias ? Number.NEGATIVE_INFINITY : value,
  ]);
  return Object.fromEntries(entries) as Record<number, number>;
}

/**
 * How tokens are drawn.
 *
 * @param fields - of a checked body
 * @returns what the engine is told; what is not given has the engine's defaults
 */
export function samplingOf(fields: SamplingFields): SamplingOptions {
  const { temperature, top_p, top_k, min_p, logit_bias } = fields;
  const { presence_penalty, frequency_penalty, repetition_penalty } = fields;
  const options = {
    temperature: temperature == null || temperature >= leastTemperature ? temperature : 0,
    // The smallest share is the most likely token alone.
    topP: top_p === 0 ? Number.MIN_VALUE : top_p,
    topK: top_k == null ? top_k : Math.max(0, top_k),
    minP: min_p,
    presencePenalty: presence_penalty,
    frequencyPenalty: frequency_penalty,
    repetitionPenalty: repetition_penalty,
    logitBias: logit_bias == null ? undefined : biasesOf(logit_bias),
  };
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value != null));
}

/**
 * Seed and stop strings.
 *
 * @throws Refusal for a seed below 0, which llama.cpp and others take for "any": only -1 is
 */
export function drawsOf({ seed, stop }: SamplingFields): Pick<SampleRequest, "seed" | "stop"> {
  if (seed != null && seed < -1) throw refused(["seed"], `expected a whole number from 0 on, got ${seed}`);
  return { seed: seed == null || seed === -1 ? undefined : seed, stop: stop ?? [] };
}

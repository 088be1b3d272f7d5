/** The options of `seekrl serve`. */
import { z } from "zod";
import { defaultModelLimits, type ModelLimits } from "../../../serve/model/options.ts";
import { adapterForm, engineOptions, modelOptions } from "../../options/model-options.ts";
import { tensorParallelOption } from "../../options/run-options.ts";
import { serveOptions } from "../../options/serve-options.ts";
import { defaultsOptions } from "./defaults.ts";
import { encoderOptions } from "./encoders.ts";
import { learnOptions } from "./learn-options.ts";
import { servedAgentOptions } from "./served-agent.ts";

const { adapter: _, ...modelOnly } = modelOptions;

const limit = (key: keyof typeof defaultModelLimits, help: string): z.ZodDefault<z.ZodInt> =>
  z.int().min(1).default(defaultModelLimits[key]).describe(help);

/** Flat; every key is a flag. */
export const serveChoice = z.strictObject({
  ...modelOnly,
  ...engineOptions,
  ...tensorParallelOption,
  name: z
    .string()
    .min(1)
    .optional()
    .describe("name under which the model answers; its folder's unless given"),
  adapter: z
    .array(z.string())
    .default([])
    .describe(`a LoRA adapter that answers under its own name, ${adapterForm}`),
  anyName: z
    .boolean()
    .default(false)
    .describe("answers with the model under names that none has, for clients that send another server's"),
  acceptWeights: z
    .boolean()
    .default(false)
    .describe("lets clients push weights that the model samples from, for rollouts of a training elsewhere"),
  ...defaultsOptions,
  ...servedAgentOptions,
  ...learnOptions,
  ...encoderOptions,
  studio: z
    .boolean()
    .default(false)
    .describe("serves the studio at /studio: chat, search, and what is learnt"),
  ...serveOptions(8000),
  maxWaiting: z
    .int()
    .min(0)
    .default(512)
    .describe("requests that may wait for memory; more are refused with 429"),
  maxBodyBytes: limit("maxBodyBytes", "bytes of a request"),
  maxChoices: limit("maxChoices", "choices of a request"),
  maxStoredResponses: limit("maxStoredResponses", "responses kept for requests that go on from one"),
  maxStoredBytes: limit("maxStoredBytes", "bytes of those"),
  timeoutMs: limit("timeoutMs", "time to the first byte of an answer, milliseconds; later is 504"),
});

/** What the options say. */
export type ServeChoice = z.output<typeof serveChoice>;

/** The limits among the options. */
export function limitsOf(given: ServeChoice): Partial<ModelLimits> {
  const keys = Object.keys(defaultModelLimits) as (keyof ModelLimits)[];
  return Object.fromEntries(keys.map((key) => [key, given[key]]));
}

/** What requests to `seekrl serve` have where they do not say it: how tokens are drawn, and variables of the chat template. */
import { z } from "zod";
import type { SamplingOptions } from "../../../../lib/engine/sampling-options.ts";
import { inGroup } from "../../fields.ts";

const sampling = z.strictObject({
  temperature: z.number().min(0).optional().describe("Divides the logits; 0 takes the likeliest token."),
  topP: z.number().gt(0).max(1).optional().describe("Draws among the likeliest tokens of this share."),
  topK: z.int().min(0).optional().describe("Draws among this many likeliest tokens; 0 means all."),
  minP: z
    .number()
    .min(0)
    .max(1)
    .optional()
    .describe("Draws among tokens this share as likely as the likeliest."),
  repetitionPenalty: z
    .number()
    .min(0.01)
    .max(100)
    .optional()
    .describe("Above 1 makes tokens that stood less likely."),
  presencePenalty: z
    .number()
    .min(-2)
    .max(2)
    .optional()
    .describe("Taken from the logit of a token that the text has."),
  frequencyPenalty: z.number().min(-2).max(2).optional().describe("The same, as often as the text has it."),
});

/** Defaults of requests. */
export const defaultsOptions = inGroup("Requests", {
  sampling: sampling
    .optional()
    .describe("How tokens are drawn where a request does not say it; over what generation_config.json says."),
  generationConfig: z
    .boolean()
    .default(true)
    .describe("Leaves aside what the model's generation_config.json says of sampling."),
  templateVariable: z
    .array(z.string().regex(/^[A-Za-z_]\w*=/, "expected NAME=VALUE"))
    .default([])
    .describe(
      "NAME=VALUE: of the chat template, such as enable_thinking=false, where a request does not say it.",
    ),
});

const schema = z.object(defaultsOptions);

/** What the options say. */
type Defaults = z.output<typeof schema>;

/** A value as JSON where it is some, else as text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** What every model has of the options: agents and what learns too. */
export interface RequestDefaults {
  readonly sampling: SamplingOptions | undefined;
  /** None is nothing. */
  readonly templateVariables: Readonly<Record<string, unknown>> | undefined;
}

/** What the options say themselves. */
export function defaultsOf({ sampling, templateVariable }: Defaults): RequestDefaults {
  if (templateVariable.length === 0) return { sampling, templateVariables: undefined };
  const entries = templateVariable.map((each) => {
    const at = each.indexOf("=");
    return [each.slice(0, at), parsed(each.slice(at + 1))];
  });
  return { sampling, templateVariables: Object.fromEntries(entries) };
}

/**
 * How a language model's tokens are drawn: as its folder says, and over it as the options do. Agents and what learns go by the
 * options alone: an agent is trained to draw as its recipe does, and what is learnt from is drawn from the policy itself.
 *
 * @param given - the options
 * @param folder - of the model
 */
export async function samplingDefaults(
  { sampling = {}, generationConfig }: Defaults,
  folder: string,
): Promise<SamplingOptions> {
  const { readGenerationSampling } = await import("../../../serve/model/generation-config.ts");
  return { ...(generationConfig ? await readGenerationSampling(folder) : {}), ...sampling };
}

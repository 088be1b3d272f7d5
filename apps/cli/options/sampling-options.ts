/** How a text is drawn, and what it is held to. */
import { z } from "zod";
import { inGroup } from "../fields.ts";

const penalty = z.number().min(-2).max(2).default(0);

/** How tokens are drawn. */
export const samplingOptions = inGroup("Sampling", {
  temperature: z.number().min(0).default(1).describe("Divides the logits; 0 takes the likeliest token."),
  topP: z.number().gt(0).max(1).default(1).describe("Draws among the likeliest tokens of this share."),
  topK: z.int().min(0).default(0).describe("Draws among this many likeliest tokens; 0 means all."),
  minP: z
    .number()
    .min(0)
    .max(1)
    .default(0)
    .describe("Draws among tokens this share as likely as the likeliest."),
  repetitionPenalty: z
    .number()
    .min(0.01)
    .max(100)
    .default(1)
    .describe("Above 1 makes the tokens of prompt and text less likely."),
  presencePenalty: penalty.describe("Taken from the logit of a token that the text has."),
  frequencyPenalty: penalty.describe("Taken from a token's logit as often as the text has it."),
  logitBias: z
    .array(z.string().regex(/^\d+=-?(\d+(\.\d+)?|Infinity)$/, "expected <id>=<number>"))
    .default([])
    .describe("<id>=<number>: added to a token's logit; -Infinity forbids it."),
  badWords: z.array(z.string().min(1)).default([]).describe("Words that are not written."),
});

/** What a text is held to. */
export const constraintOptions = inGroup("Sampling", {
  jsonSchema: z.string().optional().describe("A file with a JSON schema that the text is held to."),
  regex: z.string().optional().describe("An expression that the whole text is held to."),
  grammar: z.string().optional().describe("A file with a grammar (GBNF) that the text is held to."),
});

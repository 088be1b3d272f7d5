/** Whether a served model learns from its traffic, and how. */
import { z } from "zod";
import { inGroup } from "../../fields.ts";

const learn = z.strictObject({
  folder: z.string().describe("Keeps the promoted adapter and metrics.jsonl; what is there is gone on from."),
  name: z
    .string()
    .min(1)
    .optional()
    .describe("Name under which it answers (the model's or agent's with -learning)."),
  share: z.number().gt(0).lt(1).optional().describe("Share of requests that the candidate answers (0.25)."),
  batch: z.int().min(1).optional().describe("Scored replies of a step (32)."),
  learningRate: z.number().gt(0).optional().describe("Of the adapter (5e-5)."),
  algorithm: z
    .enum(["reinforce++", "grpo"])
    .optional()
    .describe("What rewards are compared with (reinforce++)."),
  klCoef: z.number().min(0).optional().describe("Weight of the distance to the model without it (0.001)."),
  rank: z.int().min(1).optional().describe("Width of a new adapter (16)."),
});

/** Options of a server whose replies are kept, scored and learnt from. */
export const learnOptions = inGroup("Traffic", {
  record: z
    .string()
    .optional()
    .describe("Folder that keeps what is read and sampled, and the scores of POST /v1/feedback."),
  learn: learn.optional().meta({
    head: "folder",
    description: "Trains an adapter on the scored replies of what is served under a name of its own.",
  }),
});

/** What the options say. */
export type LearnChoice = z.output<typeof learn>;

/** `seekrl demo ablations`: RAG-R1 on the built-in world with one part left out at a time. */
import { z } from "zod";
import { command } from "../../command.ts";
import { modelOptions } from "../../options/model-options.ts";

/** The command. */
export const demoAblationsCommand = command({
  name: "demo ablations",
  summary:
    "RAG-R1's ablations on the built-in world: without SFT, RL, selection, mask; both modes; one table",
  goesOn: "from the last finished step",
  options: z.strictObject({
    seeds: z.array(z.int().min(0)).min(1).default([0, 1]).describe("each of a world and every draw"),
    steps: z.int().min(1).optional().describe("of each reinforcement learning, instead of the recipe's"),
    batchQuestions: z
      .int()
      .min(1)
      .optional()
      .describe("of each step, instead of the recipe's; rates change in proportion"),
    quick: z.boolean().default(false).describe("a few steps only: shows that everything works"),
    device: modelOptions.device,
    out: z
      .string()
      .default("runs/ablations")
      .describe("folder; runs whose results stand in it are not run again"),
  }),
  run: async ({ steps, batchQuestions, ...options }, io) => {
    // Everything native is loaded here: help and usage errors work without it.
    const { runAblations } = await import("../../../world/ablations/ablations.ts");
    const { results, directions, table } = await runAblations({
      ...{ ...options, onLine: io.log, signal: io.signal },
      steps,
      batchQuestions,
    });
    io.write(`\n${table}`);
    io.result({ results: results.map(({ perQuestion: _, ...result }) => result), directions });
  },
});

/** `seekrl demo`: the whole loop on the built-in world. */
import { z } from "zod";
import { command } from "../command.ts";
import { modelOptions } from "../model-options.ts";

/** The command. */
export const demoCommand = command({
  name: "demo",
  summary: "trains a small search agent by reinforcement learning and shows what it gained",
  options: z.strictObject({
    quick: z.boolean().default(false).describe("a few steps only: shows that everything works"),
    fromScratch: z.boolean().default(false).describe("trains the start model too, by SFT"),
    seed: z.int().min(0).default(0).describe("of the world, the questions' order and every sampled token"),
    device: modelOptions.device,
    out: z.string().default("runs/demo").describe("folder for logs, models, traces and summary.json"),
  }),
  run: async (options, io) => {
    // Everything native is loaded here: help and usage errors work without it.
    const { runDemo } = await import("../../demo/demo.ts");
    const { summary, table, traces } = await runDemo({ ...options, onLine: io.log, signal: io.signal });
    for (const [title, trace] of traces) io.write(`\n--- ${title}\n${trace}\n`);
    io.write(`\n${table}\n`);
    io.result(summary);
  },
});

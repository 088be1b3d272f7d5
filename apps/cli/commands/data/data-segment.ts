/** `seekrl data segment`: trajectories become one SFT sample for every point where the model must act. */
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { writeJsonLines } from "../../../../lib/data/files/jsonl.ts";
import { readDemonstrations } from "../../../../lib/train/curate/read-demonstrations.ts";
import {
  balancedSamples,
  type SftCategory,
  type SftSample,
  sftCategories,
  sftSamples,
} from "../../../../lib/train/curate/samples.ts";
import { type CommandIo, command, UsageError } from "../../command.ts";
import { chooseRecipe, recipeOptions } from "../../options/recipe-options.ts";
import { tableOf } from "../../report/table.ts";

const schema = z.strictObject({
  data: z.string().describe("trajectories: JSON Lines of {segments: [{kind, text, tokens?}]}"),
  out: z.string().describe("file for the samples, for sft"),
  ...recipeOptions,
  balance: z.boolean().default(false).describe("as many of each category as the rarest has"),
  perCategory: z.int().min(1).optional().describe("at most so many of each category"),
  seed: z.int().min(0).default(0).describe("of what is drawn"),
});

interface Sample extends SftSample {
  /** Of the question, where it is known. */
  readonly id?: string;
}

/** The command. */
export const dataSegmentCommand = command({
  name: "data segment",
  summary: "cuts trajectories into RAG-R1's four categories of samples for sft",
  options: schema,
  run: async (options, io) => {
    const { data, out, balance, perCategory, seed } = options;
    if (balance && perCategory !== undefined) throw new UsageError("--balance, --per-category: expected one");
    const { format } = chooseRecipe(options.recipe);
    const samples: Sample[] = [];
    let [trajectories, invalid] = [0, 0];
    for await (const { segments, id } of readDemonstrations(data)) {
      const cut = sftSamples(segments, format);
      for (const sample of cut.samples) samples.push(id === undefined ? sample : { id, ...sample });
      trajectories += 1;
      invalid += cut.numInvalid;
    }
    if (trajectories === 0)
      throw new SeekError("ERR_FORMAT", `${data}: expected at least one trajectory, got none`);
    const most = balance ? ("rarest" as const) : perCategory;
    const kept = most === undefined ? samples : balancedSamples(samples, { perCategory: most, seed });
    await writeJsonLines(out, kept);
    report({ trajectories, invalid, samples, kept, out }, io);
  },
});

interface Cut {
  readonly trajectories: number;
  readonly invalid: number;
  readonly samples: readonly Sample[];
  readonly kept: readonly Sample[];
  readonly out: string;
}

function countsOf(samples: readonly Sample[]): Record<SftCategory, number> {
  const counts = { 1: 0, 2: 0, 3: 0, 4: 0 };
  for (const { category } of samples) counts[category] += 1;
  return counts;
}

function report({ trajectories, invalid, samples, kept, out }: Cut, io: CommandIo): void {
  const [all, written] = [countsOf(samples), countsOf(kept)];
  const rows = ([1, 2, 3, 4] as const).map((category) => [
    `${category} ${sftCategories[category]}`,
    String(all[category]),
    String(written[category]),
  ]);
  io.write(tableOf([["category", "samples", "written"], ...rows]));
  io.write(
    `${kept.length} samples of ${trajectories} trajectories in ${out}, ${invalid} turns without an action\n`,
  );
  io.result({ out, trajectories, samples: kept.length, categories: written, invalidTurns: invalid });
}

/** RAG-R1's ablations on the built-in world: every variant, both modes, some seeds, one table; run by run resumable. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../../lib/base/files/files.ts";
import { lockFolder } from "../../../lib/base/files/folder-lock.ts";
import { withBatching } from "../../../lib/search/batching/batching.ts";
import { buildIndex } from "../../../lib/search/index-folder/build/build.ts";
import { openIndex } from "../../../lib/search/index-folder/open.ts";
import type { Search } from "../../../lib/search/search.ts";
import { worldCheckpoint } from "../demo/demo.ts";
import { worldRecipe } from "../recipes/world.ts";
import { createWorld, type World } from "../world.ts";
import { baseSft, trainBaseModel } from "./base-model.ts";
import { type Prepared, prepare } from "./prepare.ts";
import { type RunResult, runVariant } from "./run-variant.ts";
import type { Setting, Sizes } from "./setting.ts";
import { ablationTables, type Direction, directions } from "./table.ts";
import { variants } from "./variants.ts";

/** How to run the ablations. */
interface AblationOptions {
  /** Everything goes here; a run whose result is there is not run again. */
  readonly out: string;
  /** Each of a world, the questions' order and every sampled token. @default [0, 1] */
  readonly seeds?: readonly number[];
  /** A few steps and questions: shows that everything works, without results that count. @default false */
  readonly quick?: boolean;
  /** Steps of each reinforcement learning. @default the world recipe's */
  readonly steps?: number;
  /** Questions of each step; the policy's rate changes in proportion. @default the world recipe's */
  readonly batchQuestions?: number;
  /** @default "cpu" */
  readonly device?: string;
  /** Progress, a line at a time. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What was measured. */
interface AblationResult {
  readonly results: readonly RunResult[];
  readonly directions: readonly Direction[];
  /** Markdown, as in `ablations.md`. */
  readonly table: string;
}

const quickSizes: Sizes = { numTrain: 60, numTest: 16, numAlone: 4, rlSteps: 2, batchQuestions: 8 };
const quickBaseSteps = 20;

/** A search gathers queries for so long, as a retrieval service would; see the demo. */
const searchWindowMs = 10;

/**
 * Runs every variant in both modes under every seed. Within a seed and mode they share the SFT data, the fine-tuned model
 * and the selected questions; the base model is one for all.
 *
 * @param options - folder, seeds, size
 * @returns results, directions and the table, which also stands in the folder
 * @throws ERR_ABORTED when the signal fires; ERR_IO when the folder cannot be written
 */
export async function runAblations(options: AblationOptions): Promise<AblationResult> {
  const { out, seeds = [0, 1], quick = false, onLine = () => {} } = options;
  using _lock = await lockFolder(out);
  const base = await baseModel(options, onLine);
  const sizes = quick ? quickSizes : fullSizes(options);
  const results: RunResult[] = [];
  const onResult = async (result: RunResult): Promise<void> => {
    results.push(result);
    await writeFileAtomic(join(out, "ablations.md"), ablationTables(results));
  };
  for (const seed of seeds) {
    const folder = join(out, `seed-${seed}-${sizes.rlSteps}-steps-of-${sizes.batchQuestions}`);
    await runSeed(seed, { ...options, folder, base, sizes, onLine, onResult });
  }
  return { results, directions: directions(results), table: ablationTables(results) };
}

function fullSizes({ steps, batchQuestions }: AblationOptions): Sizes {
  const { training } = worldRecipe({ queries: "multi" });
  return {
    ...{ numTrain: 2400, numTest: 500, numAlone: 100 },
    rlSteps: steps ?? training.steps,
    batchQuestions: batchQuestions ?? training.batchQuestions,
  };
}

async function baseModel(
  { out, quick = false, device = "cpu", signal }: AblationOptions,
  onLine: (line: string) => void,
): Promise<string> {
  const folder = join(out, quick ? "base-quick" : "base");
  if (existsSync(join(folder, "model.safetensors"))) return folder;
  const steps = quick ? quickBaseSteps : baseSft.steps;
  onLine("the base model: it reads, but knows no format");
  await trainBaseModel({
    ...{ folder, seed: 0, steps, device, signal },
    onStep: ({ step, loss }) => {
      if (step % 100 === 0 || step === steps) onLine(`base ${step}/${steps}  loss ${loss.toFixed(3)}`);
    },
  });
  return folder;
}

interface SeedOptions extends AblationOptions {
  readonly folder: string;
  readonly base: string;
  readonly sizes: Sizes;
  readonly onLine: (line: string) => void;
  readonly onResult: (result: RunResult) => Promise<void>;
}

async function runSeed(seed: number, options: SeedOptions): Promise<void> {
  const world = createWorld({ seed });
  const folder = join(options.folder, "index");
  if (!existsSync(folder)) {
    const { signal } = options;
    const dense = { kind: "hnsw" } as const;
    await buildIndex({
      corpus: world.passages,
      out: folder,
      bm25: false,
      dense,
      signal,
    });
  }
  const index = await openIndex(folder);
  try {
    const search = withBatching(index, { windowMs: searchWindowMs, maxCached: 0 });
    await runVariants({ seed, world, search }, options);
  } finally {
    index.close();
  }
}

/** Variant by variant, each in both modes, so that what is there after a while can be compared. */
async function runVariants(
  around: { readonly seed: number; readonly world: World; readonly search: Search },
  { base, sizes, folder, device = "cpu", onLine, onResult, signal }: SeedOptions,
): Promise<void> {
  const modes: { setting: Setting; prepared: Prepared }[] = [];
  for (const mode of ["single", "multi"] as const) {
    const own = { ...around, mode, folder: join(folder, mode), teacher: worldCheckpoint };
    const setting: Setting = { ...own, sizes, base, device, onLine, signal };
    await mkdir(setting.folder, { recursive: true });
    modes.push({ setting, prepared: await prepare(setting) });
  }
  for (const variant of variants) {
    for (const { setting, prepared } of modes) {
      const result = await runVariant(variant, setting, prepared);
      onLine(lineOf(result));
      await onResult(result);
    }
  }
}

function lineOf({ seed, mode, variant, em, rounds, secondsPerQuestion }: RunResult): string {
  const time = `${(1000 * secondsPerQuestion).toFixed(1)} ms/question`;
  return `seed ${seed} ${mode} ${variant}: EM ${(100 * em).toFixed(1)}%, ${rounds.toFixed(2)} rounds, ${time}`;
}

/** RAG-R1's ablations on the built-in world: every variant, both modes, some seeds, one table; run by run resumable. */
import { existsSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../base/files.ts";
import { worldCheckpoint } from "../demo/demo.ts";
import { buildIndex } from "../index-folder/build.ts";
import { openIndex } from "../index-folder/open.ts";
import { worldRecipe } from "../recipes/world.ts";
import { batched } from "../search/batched.ts";
import type { Search } from "../search/search.ts";
import { createWorld, type World } from "../world/world.ts";
import { baseSft, trainBaseModel } from "./base-model.ts";
import { prepare } from "./prepare.ts";
import { type RunResult, runVariant } from "./run-variant.ts";
import type { Setting, Sizes } from "./setting.ts";
import { ablationTables, type Direction, directions } from "./table.ts";
import { variants } from "./variants.ts";

/** How to run the ablations. */
export interface AblationOptions {
  /** Everything goes here; a run whose result is there is not run again. */
  readonly out: string;
  /** Each of a world, the questions' order and every sampled token. @default [0, 1] */
  readonly seeds?: readonly number[];
  /** A few steps and questions: shows that everything works, not what it is worth. @default false */
  readonly quick?: boolean;
  /** Steps of each reinforcement learning. @default the world recipe's */
  readonly steps?: number;
  /** @default "cpu" */
  readonly device?: string;
  /** Progress, a line at a time. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal;
}

/** What was measured. */
export interface AblationResult {
  readonly results: readonly RunResult[];
  readonly directions: readonly Direction[];
  /** Markdown, as in `ablations.md`. */
  readonly table: string;
}

const quickSizes = { numTrain: 120, numTest: 24, rlSteps: 2, baseSteps: 40 } as const;

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
  await mkdir(out, { recursive: true });
  const base = await baseModel(options, onLine);
  const steps = options.steps ?? worldRecipe({ queries: "multi" }).training.steps;
  const full: Sizes = { numTrain: 2400, numTest: 500, rlSteps: steps };
  const sizes: Sizes = quick ? quickSizes : full;
  const results: RunResult[] = [];
  for (const seed of seeds) {
    const name = `seed-${seed}${quick ? "-quick" : ""}${options.steps === undefined ? "" : `-${steps}-steps`}`;
    results.push(...(await runSeed(seed, { ...options, folder: join(out, name), base, sizes, onLine })));
    await writeFileAtomic(join(out, "ablations.md"), ablationTables(results));
  }
  return { results, directions: directions(results), table: ablationTables(results) };
}

async function baseModel(
  { out, quick = false, device = "cpu", signal }: AblationOptions,
  onLine: (line: string) => void,
): Promise<string> {
  const folder = join(out, quick ? "base-quick" : "base");
  if (existsSync(join(folder, "model.safetensors"))) return folder;
  const steps = quick ? quickSizes.baseSteps : baseSft.steps;
  onLine("the base model: it reads, but has no manners");
  await trainBaseModel({
    ...{ folder, seed: 0, steps, device, ...(signal ? { signal } : {}) },
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
}

async function runSeed(seed: number, options: SeedOptions): Promise<RunResult[]> {
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
      ...(signal ? { signal } : {}),
    });
  }
  const index = await openIndex(folder);
  try {
    const search = batched(index, { windowMs: searchWindowMs, maxCached: 0 });
    const results: RunResult[] = [];
    for (const mode of ["single", "multi"] as const) {
      results.push(...(await runMode(mode, seed, { ...options, world, search })));
    }
    return results;
  } finally {
    index.close();
  }
}

async function runMode(
  mode: Setting["mode"],
  seed: number,
  options: SeedOptions & { readonly world: World; readonly search: Search },
): Promise<RunResult[]> {
  const { base, sizes, world, search, device = "cpu", onLine, signal } = options;
  const folder = join(options.folder, mode);
  await mkdir(folder, { recursive: true });
  const setting = { mode, seed, world, search, sizes, folder, base, device, onLine, signal };
  const whole: Setting = { ...setting, teacher: worldCheckpoint };
  const prepared = await prepare(whole);
  const results: RunResult[] = [];
  for (const variant of variants) {
    const result = await runVariant(variant, whole, prepared);
    const { em, rounds, secondsPerQuestion } = result;
    const time = `${(1000 * secondsPerQuestion).toFixed(1)} ms/question`;
    onLine(
      `seed ${seed} ${mode} ${variant.name}: EM ${(100 * em).toFixed(1)}%, ${rounds.toFixed(2)} rounds, ${time}`,
    );
    results.push(result);
  }
  return results;
}

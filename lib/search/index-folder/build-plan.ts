/** What a build under way is about, so that it can go on after a kill. */
import { join } from "node:path";
import type { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { readText } from "../../base/files/regular-file.ts";
import { lazySchema } from "../../base/on-first-use.ts";
import { settingsSchema } from "./manifest.ts";

/** The file's name, in the folder of the segment that is being written; no manifest ever names it. */
const planFile = "build.json";

/** A contiguous share of a corpus: `index` of `count`, from 1. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

/** Which passages of `total` a part has: from `first` up to, not including, `end`. */
export function boundsOf(
  { index, count }: Part,
  total: number,
): { readonly first: number; readonly end: number } {
  return { first: Math.floor((total * (index - 1)) / count), end: Math.floor((total * index) / count) };
}

const planSchema = lazySchema((z) =>
  z.strictObject({
    format: z.literal("seekrl-build"),
    version: z.literal(1),
    /** The corpus's path; null when it was no file. */
    corpus: z.string().nullable(),
    part: z.strictObject({ index: z.int().positive(), count: z.int().positive() }).nullable(),
    /** How documents were to be cut, as JSON. */
    split: z.string(),
    settings: settingsSchema(),
  }),
);

/** A build's beginnings. */
export type BuildPlan = z.infer<ReturnType<typeof planSchema>>;

/** Begins a build. @throws ERR_IO */
export async function writeBuildPlan(path: string, plan: BuildPlan): Promise<void> {
  await writeFileAtomic(join(path, planFile), `${JSON.stringify(plan, null, 2)}\n`);
}

/** The build that a folder's segment was left in; undefined when there is none that can go on. */
export async function findBuildPlan(path: string): Promise<BuildPlan | undefined> {
  try {
    return planSchema().parse(JSON.parse(await readText(join(path, planFile))));
  } catch {
    return undefined;
  }
}

/** Refuses to go on with other options than the build was begun with. @throws ERR_ARGUMENT */
export function checkSame(path: string, begun: object, asked: object): void {
  if (JSON.stringify(begun) === JSON.stringify(asked)) return;
  throw new SeekError(
    "ERR_ARGUMENT",
    `${path}: expected the options that the build was begun with, ${JSON.stringify(begun)}, got ${JSON.stringify(asked)}`,
  );
}

/** What an index folder says about itself: how it was built, and the segments that hold its passages. */
import { join } from "node:path";
import type { z } from "zod";
import { SeekError } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { findText, readText } from "../../base/files/regular-file.ts";
import { lazySchema, zod } from "../../base/on-first-use.ts";
import { languages } from "../../text/analysis/languages.ts";
import type { Analyser } from "../../text/analysis/words.ts";

/** The file's name. Renaming it into its place is the commit of every change. */
export const manifestFile = "manifest.json";

// Names that lead out of their folder are refused: a manifest from elsewhere must not name other files.
const fileName = lazySchema((z) => z.string().regex(/^[\w-]+(\.[\w-]+)*$/));

const segmentName = lazySchema((z) => z.string().regex(/^\d+$/));

/** Sizes in bytes, by name. */
const filesSchema = lazySchema((z) => z.record(fileName(), z.int().nonnegative()));

const graphSchema = lazySchema((z) =>
  z.strictObject({
    connectivity: z.int().positive(),
    expansionAdd: z.int().positive(),
    expansionSearch: z.int().positive(),
  }),
);

const analyserSchema = lazySchema((z) =>
  z.strictObject({ rules: z.literal(2), language: z.enum(languages) }),
);

const bm25Schema = lazySchema((z) => z.strictObject({ k1: z.number().min(0), b: z.number().min(0).max(1) }));

/** A hashed embedder stands in one of the segments' folders; an encoder stays where it is and is named by its content. */
const embedderSchema = lazySchema((z) =>
  z.discriminatedUnion("kind", [
    z.strictObject({ kind: z.literal("hashed"), dim: z.int().positive(), segment: segmentName() }),
    z.strictObject({
      ...{
        kind: z.literal("encoder"),
        path: z.string(),
        signature: z.string().optional(),
        dim: z.int().positive(),
        fingerprint: z.string(),
      },
      dtype: z.enum(["float32", "bfloat16"]),
      weights: z.literal("int8").optional(),
      pooling: z.enum(["cls", "mean", "last"]),
      normalise: z.boolean(),
      queryPrefix: z.string(),
      passagePrefix: z.string(),
      maxTokens: z.int().positive(),
    }),
  ]),
);

const denseSchema = lazySchema((z) =>
  z.strictObject({
    embedder: embedderSchema(),
    kind: z.enum(["auto", "exact", "hnsw"]),
    metric: z.enum(["cos", "ip"]),
    dtype: z.enum(["f32", "bf16", "i8", "b1"]),
    /** Rows in a finer form are kept, by which candidates are scored again. */
    rescore: z.boolean(),
    graph: graphSchema(),
  }),
);

const segmentSchema = lazySchema((z) =>
  z.strictObject({
    /** Its folder below `segments`; a later segment has a higher number. */
    name: segmentName(),
    /** Passages, removed ones included. */
    count: z.int().nonnegative(),
    /** Which passages are removed stands in a file of its own. */
    removed: z.strictObject({ count: z.int().positive(), file: fileName() }).optional(),
    /** How its vectors are searched. */
    vectors: z.enum(["exact", "hnsw"]).optional(),
    /** Share of the true ten nearest that a search finds, measured when the segment was written; unless it is exact. */
    recall: z.number().min(0).max(1).optional(),
    files: filesSchema(),
  }),
);

/** What an index holds of its passages. */
export const settingsSchema = lazySchema((z) =>
  z.strictObject({
    /** How texts are cut into words; absent where the first rules were followed. */
    analyser: analyserSchema().optional(),
    bm25: bm25Schema().optional(),
    dense: denseSchema().optional(),
  }),
);

/** A contiguous share of a corpus: its place among the shares, and its passages' place among all. */
const partSchema = lazySchema((z) =>
  z.strictObject({
    /** From 1 to `count`. */
    index: z.int().positive(),
    count: z.int().positive(),
    /** Passages of the shares before it. */
    first: z.int().nonnegative(),
    /** Passages of all shares. */
    total: z.int().nonnegative(),
  }),
);

const manifestSchema = lazySchema((z) =>
  z.strictObject({
    format: z.literal("seekrl-index"),
    version: z.literal(2),
    settings: settingsSchema(),
    part: partSchema().optional(),
    segments: z.array(segmentSchema()),
  }),
);

/** The content of manifest.json. */
export type Manifest = z.infer<ReturnType<typeof manifestSchema>>;
/** Which share of a corpus an index holds. */
export type IndexPart = z.infer<ReturnType<typeof partSchema>>;
/** How a folder's passages are indexed; the same for all of its segments. */
export type IndexSettings = Manifest["settings"];
/** What turns passages and queries into vectors. */
export type EmbedderSettings = z.infer<ReturnType<typeof embedderSchema>>;
/** How passages become vectors, and how those are searched. */
export type DenseSettings = z.infer<ReturnType<typeof denseSchema>>;
/** A part of the index that was written at once. */
export type SegmentEntry = z.infer<ReturnType<typeof segmentSchema>>;

/** How an index's texts are cut, and so its queries. */
export function analyserOf({ analyser }: IndexSettings): Analyser {
  return analyser ?? { rules: 1, language: "auto" };
}

/** Passages that searches can return. */
export function countLive({ segments }: Pick<Manifest, "segments">): number {
  return segments.reduce((sum, { count, removed }) => sum + count - (removed?.count ?? 0), 0);
}

/** Where segments lie in an index. */
export const segmentsFolder = "segments";

/** The folder of a segment, relative to the index. */
export function segmentFolder({ name }: Pick<SegmentEntry, "name">): string {
  return join(segmentsFolder, name);
}

/** Every file that a manifest names, relative to the index, with its size. */
export function listFiles({ segments }: Pick<Manifest, "segments">): [path: string, bytes: number][] {
  return segments.flatMap((segment) =>
    Object.entries(segment.files).map(
      ([name, bytes]) => [join(segmentFolder(segment), name), bytes] as [string, number],
    ),
  );
}

/** Commits a change. @throws ERR_IO */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeFileAtomic(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`);
}

function parse(path: string, text: string): Manifest {
  try {
    const value = JSON.parse(text) as { format?: unknown; version?: unknown } | null;
    if (value?.format === "seekrl-index" && value.version !== 2)
      throw new Error(
        `expected format version 2, got ${JSON.stringify(value.version)}; build the index again`,
      );
    return manifestSchema().parse(value);
  } catch (cause) {
    const what = cause instanceof zod().ZodError ? zod().prettifyError(cause) : (cause as Error).message;
    throw new SeekError("ERR_FORMAT", `${path}: not the manifest of an index: ${what}`, { cause });
  }
}

/**
 * Reads a folder's manifest, if it has one.
 *
 * @throws ERR_IO when it cannot be read, ERR_FORMAT when it is no manifest of an index
 */
export async function findManifest(folder: string): Promise<Manifest | undefined> {
  const path = join(folder, manifestFile);
  const text = await findText(path);
  return text === undefined ? undefined : parse(path, text);
}

/** The segment that holds the hashed embedder; undefined without one. */
export function embedderSegment({ dense }: IndexSettings): string | undefined {
  return dense?.embedder.kind === "hashed" ? dense.embedder.segment : undefined;
}

/** Whether a manifest, though it cannot be used, is of an index: of another version, for example. */
export async function isOfIndex(folder: string): Promise<boolean> {
  try {
    const value = JSON.parse(await readText(join(folder, manifestFile))) as {
      format?: unknown;
    } | null;
    return value?.format === "seekrl-index";
  } catch {
    return false;
  }
}

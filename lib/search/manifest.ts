/** What an index folder says about itself; written last, so that a folder without it is not an index. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { SeekError } from "../base/errors.ts";
import { writeFileAtomic } from "../base/files.ts";

/** The file's name. */
export const manifestFile = "manifest.json";

const fileSchema = z.strictObject({ bytes: z.int().nonnegative() });

const common = {
  format: z.literal("seekrl-index"),
  version: z.literal(1),
  /** Passages. */
  count: z.int().nonnegative(),
  files: z.record(z.string(), fileSchema),
};

const lexicalSchema = z.strictObject({ ...common, kind: z.literal("bm25"), k1: z.number(), b: z.number() });

const denseSchema = z.strictObject({
  ...common,
  kind: z.enum(["exact", "hnsw"]),
  embedder: z.literal("hashed"),
  dim: z.int().positive(),
  metric: z.enum(["cos", "ip"]),
  dtype: z.enum(["f32", "bf16", "i8", "b1"]),
  /** Of kind "hnsw". */
  graph: z
    .strictObject({
      connectivity: z.int().positive(),
      expansionAdd: z.int().positive(),
      expansionSearch: z.int().positive(),
    })
    .optional(),
});

const manifestSchema = z.discriminatedUnion("kind", [lexicalSchema, denseSchema]);

/** The content of manifest.json. */
export type Manifest = z.infer<typeof manifestSchema>;

/** The sizes of files in a folder. */
export async function describeFiles(
  folder: string,
  names: readonly string[],
): Promise<Record<string, { bytes: number }>> {
  const sizes = names.map(async (name) => [name, { bytes: (await stat(join(folder, name))).size }] as const);
  return Object.fromEntries(await Promise.all(sizes));
}

/** @throws ERR_IO */
export async function writeManifest(folder: string, manifest: Manifest): Promise<void> {
  await writeFileAtomic(join(folder, manifestFile), `${JSON.stringify(manifest, null, 2)}\n`);
}

function parse(path: string, text: string): Manifest {
  try {
    return manifestSchema.parse(JSON.parse(text));
  } catch (cause) {
    const what = cause instanceof z.ZodError ? z.prettifyError(cause) : (cause as Error).message;
    throw new SeekError("ERR_FORMAT", `${path}: not the manifest of an index: ${what}`, { cause });
  }
}

/**
 * Reads a folder's manifest and compares the files' sizes with it.
 *
 * @throws ERR_IO when the folder holds no manifest or a file is missing, ERR_FORMAT when one is not as it should be
 */
export async function readManifest(folder: string): Promise<Manifest> {
  const path = join(folder, manifestFile);
  const text = await readFile(path, "utf8").catch((cause) => {
    throw new SeekError(
      "ERR_IO",
      `${folder}: expected an index folder with ${manifestFile}: ${cause.message}`,
      {
        cause,
      },
    );
  });
  const manifest = parse(path, text);
  for (const [name, { bytes }] of Object.entries(manifest.files)) {
    const file = join(folder, name);
    const found = await stat(file).catch((cause) => {
      throw new SeekError("ERR_IO", `${file}: cannot be read: ${cause.message}`, { cause });
    });
    if (found.size !== bytes)
      throw new SeekError("ERR_FORMAT", `${file}: expected ${bytes} bytes, got ${found.size}`);
  }
  return manifest;
}

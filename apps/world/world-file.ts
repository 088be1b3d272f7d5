/** `world.json`: what a model folder says of the world that its model belongs to. */
import { join } from "node:path";
import { z } from "zod";
import { SeekError } from "../../lib/base/errors.ts";
import { writeFileAtomic } from "../../lib/base/files/files.ts";
import { findText } from "../../lib/base/files/regular-file.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import type { QueryMode } from "../../lib/text/observation.ts";
import { patchyWorldRecipe } from "./recipes/patchy-world.ts";
import { worldRecipe } from "./recipes/world.ts";

const schema = z.strictObject({
  seed: z.int().min(0),
  queries: z.enum(["single", "multi"]).optional(),
  search: z.enum(["plain", "patchy"]),
  recipe: z.looseObject({ name: z.string() }).optional(),
});

/** Where a world model was trained. */
export interface WorldSetting {
  /** Of the world. */
  readonly seed: number;
  /** What it was trained for. @default both */
  readonly queries?: QueryMode | undefined;
  /** Whether its search has gaps. */
  readonly search: "plain" | "patchy";
  /** Name and choices of the recipe that it was trained by, as `--recipe` takes them. @default the world's own */
  readonly recipe?: { readonly name: string } | undefined;
}

const name = "world.json";

/** Writes `world.json` into a model folder. @throws ERR_IO */
export async function writeWorldFile(folder: string, setting: WorldSetting): Promise<void> {
  await writeFileAtomic(join(folder, name), `${JSON.stringify(setting, null, 2)}\n`);
}

/**
 * Reads a model folder's `world.json`.
 *
 * @param folder - of a model
 * @returns the setting; undefined where there is no such file, as in the folder of any other model
 * @throws ERR_FORMAT when the file says something else
 */
export async function readWorldFile(folder: string): Promise<WorldSetting | undefined> {
  const path = join(folder, name);
  const text = await findText(path);
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${path}: expected {"seed": 0, "search": "plain"}`, { cause });
  }
}

/**
 * The setting of a model, or of an adapter on it: one that says nothing itself belongs to its model's world.
 *
 * @returns undefined for any other model
 * @throws ERR_FORMAT
 */
export async function settingOfPolicy({
  model,
  adapter,
}: {
  readonly model: string;
  readonly adapter?: string | undefined;
}): Promise<WorldSetting | undefined> {
  const own = adapter === undefined ? undefined : await readWorldFile(adapter);
  return own ?? (await readWorldFile(model));
}

/**
 * The setting of a model that is asked by another recipe.
 *
 * @param setting - of the model
 * @param recipe - name and choices, as `--recipe` takes them
 */
export function withRecipe(
  { seed, search }: WorldSetting,
  recipe: { readonly name: string; readonly queries?: QueryMode | undefined },
): WorldSetting {
  return { seed, search, ...(recipe.name === "world" ? { queries: recipe.queries } : { recipe }) };
}

/** The world's own recipe for a world model; parallel queries for one that knows both modes. */
export function recipeOfWorld({ queries = "multi", search }: WorldSetting): Recipe {
  return search === "patchy" ? patchyWorldRecipe({ queries }) : worldRecipe({ queries });
}

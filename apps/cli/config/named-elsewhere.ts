/** Folders that an adapter or an index names: used where this user's own command wrote the name, or when told so. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { adapterConfigFile } from "../../../lib/model/peft-config.ts";
import { isValues, type Values } from "../assignments.ts";
import { type CommandIo, UsageError } from "../command.ts";

/** A name that somebody else may have written, and what to give in its place. */
interface Foreign {
  readonly what: string;
  readonly instead: string;
}

/** Why a name is not used; what would be obeyed or hidden by a terminal is escaped. */
export function foreignNameMessage(what: string, remedy: string): string {
  const shown = JSON.stringify(what).slice(1, -1);
  return `${shown}, which no command of this user wrote on this machine. Remedy: ${remedy}`;
}

/** The model of an adapter's folder that stands for both; one of the hub is fetched by its name, as peft does. */
async function modelOfAdapter(folder: unknown): Promise<Foreign | undefined> {
  if (typeof folder !== "string" || !existsSync(join(folder, adapterConfigFile))) return undefined;
  if (existsSync(join(folder, "config.json"))) return undefined;
  const { readPeftConfig } = await import("../../../lib/model/peft-config.ts");
  const { isOwnBase } = await import("../../../lib/model/base-form.ts");
  const { base } = await readPeftConfig(folder);
  if (base === undefined || !existsSync(base) || (await isOwnBase(folder, base))) return undefined;
  return {
    what: `${folder}: path base_model_name_or_path: ${base}`,
    instead: `--model ${base} --adapter ${folder}`,
  };
}

/** The encoder of an index whose vectors are searched. */
async function encoderOfIndex(index: unknown): Promise<Foreign | undefined> {
  const { folder, encoder, mode } = isValues(index) ? index : { folder: index };
  if (typeof folder !== "string" || encoder !== undefined || mode === "bm25") return undefined;
  if (!existsSync(join(folder, "manifest.json"))) return undefined;
  const { foreignEncoder } = await import("../../../lib/search/index-folder/embedders.ts");
  const path = await foreignEncoder(folder);
  if (path === undefined) return undefined;
  return { what: `${folder}: path encoder: ${path}`, instead: `--index folder=${folder},encoder=${path}` };
}

/**
 * Refuses a folder whose files lead to another one that no command of this user named there.
 *
 * @param options - of a command, all paths of this machine
 * @throws UsageError that shows the name
 */
export async function requireOwnNames(options: Values, { trust }: Pick<CommandIo, "trust">): Promise<void> {
  if (trust) return;
  const models = options.adapter === undefined ? [options.model].flat() : [];
  for (const found of [...models.map(modelOfAdapter), encoderOfIndex(options.index)]) {
    const foreign = await found;
    if (foreign === undefined) continue;
    throw new UsageError(foreignNameMessage(foreign.what, `--trust, or ${foreign.instead}`));
  }
}

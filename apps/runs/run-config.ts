/** The options of a run as `config.yaml` keeps them, by their paths, and where two runs differ. */
import { join } from "node:path";
import { findText } from "../../lib/base/files/regular-file.ts";
import { isOwnRecord, recordFile } from "../../lib/train/run/run-record.ts";
import { type Settings, valuesByPath } from "../../lib/train/run/settings.ts";

/** One option, its value as JSON. */
export interface ConfigOption {
  /** `algorithm.clip.low`. */
  readonly path: string;
  readonly value: string;
}

/** Two runs' options. */
interface ConfigDifference {
  readonly path: string;
  /** Null where the run does not have it. */
  readonly first: string | null;
  readonly second: string | null;
}

/** What a run was begun with, and whether a command of this user wrote it so. */
interface RunRecord {
  readonly config: Settings;
  readonly isOwn: boolean;
}

/**
 * `config.yaml` of a run, to be shown.
 *
 * @returns undefined where there is none, or what is there holds no options
 * @throws ERR_IO for what is no file, or a link out of the folder
 */
export async function readConfig(folder: string): Promise<Settings | undefined> {
  return (await readText(folder))?.config;
}

/** As {@link readConfig}, to be acted upon. @throws also ERR_STATE for a secret that others may read */
export async function readRecord(folder: string): Promise<RunRecord | undefined> {
  const found = await readText(folder);
  return found && { config: found.config, isOwn: await isOwnRecord(found.text, found.config) };
}

async function readText(folder: string): Promise<{ text: string; config: Settings } | undefined> {
  const text = await findText(join(folder, recordFile), { within: folder });
  if (text === undefined) return undefined;
  const { parseConfigText } = await import("../../lib/data/files/config-text.ts");
  try {
    const config = parseConfigText(text, recordFile);
    return isNested(config) && !Array.isArray(config) ? { text, config } : undefined;
  } catch {
    return undefined;
  }
}

/** Options by their paths, sorted; a list is one value. */
export function optionsByPath(config: Settings | undefined): ConfigOption[] {
  const values = valuesByPath(config ?? {}, "", Array.isArray).filter(([, value]) => value !== undefined);
  const options = values.map(([path, value]) => ({ path, value: JSON.stringify(value) }));
  return options.sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** The options that only one of two has, or that differ, and how many are the same. */
export function configDifferences(
  first: readonly ConfigOption[],
  second: readonly ConfigOption[],
): { readonly differences: readonly ConfigDifference[]; readonly numSame: number } {
  const [a, b] = [first, second].map((options) => new Map(options.map(({ path, value }) => [path, value])));
  const paths = [...new Set([...first, ...second].map(({ path }) => path))].sort();
  const pairs = paths.map((path) => ({
    ...{ path, first: a?.get(path) ?? null, second: b?.get(path) ?? null },
  }));
  const differences = pairs.filter((pair) => pair.first !== pair.second);
  return { differences, numSame: pairs.length - differences.length };
}

function isNested(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}

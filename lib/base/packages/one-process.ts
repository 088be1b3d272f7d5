/** What a process holds one of, in all its threads: a libtorch, and an addon on it. */
import { existsSync, realpathSync } from "node:fs";
import { basename } from "node:path";
import { SeekError } from "../errors.ts";
import { processReport } from "./process-report.ts";

const realOf = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

/** Machine code that is in the process already. */
const loadedFiles = (): readonly string[] => processReport().sharedObjects ?? [];

/** Another file than `own` of the same name among those that are loaded. */
function otherThan(own: string, loaded: readonly string[]): string | undefined {
  return loaded.find((path) => basename(path) === basename(own) && realOf(path) !== realOf(own));
}

/**
 * Refuses to load a second libtorch beside one that is in the process: the addon would be bound to the first.
 *
 * @param library - libtorch's for the processor, which is to be loaded
 * @param loaded - paths of what the process has loaded
 * @throws ERR_STATE that names both
 */
export function requireOneLibtorch(library: string, loaded: readonly string[] = loadedFiles()): void {
  const other = otherThan(library, loaded);
  if (other === undefined) return;
  throw new SeekError(
    "ERR_STATE",
    `libtorch is in this process already, from ${other}; seekrl has ${library}, and one process holds one libtorch. ` +
      "Remedy: use seekrl in a process of its own, or set SEEKRL_LIBTORCH to the other's folder, if it is of the same version.",
  );
}

/**
 * Refuses a second addon beside that of another copy of seekrl, which any thread may have loaded: both would set up the same
 * libtorch, and the process would die of it.
 *
 * @param addon - the file that is to be loaded
 * @param loaded - paths of what the process has loaded
 * @throws ERR_STATE that names both
 */
export function requireOneAddon(addon: string, loaded: readonly string[] = loadedFiles()): void {
  const other = otherThan(addon, loaded);
  if (other === undefined) return;
  throw new SeekError(
    "ERR_STATE",
    `seekrl's addon is in this process already, from ${other}; this copy of seekrl has ${realOf(addon)}, and one process holds one. ` +
      "Remedy: npm ls seekrl says who brings which; ask for one version.",
  );
}

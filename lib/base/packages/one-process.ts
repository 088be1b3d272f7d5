/** What a process holds one of: a libtorch, and an addon on it. */
import { existsSync, readFileSync, realpathSync } from "node:fs";
import { join } from "node:path";
import { SeekError } from "../errors.ts";

const realOf = (path: string): string => (existsSync(path) ? realpathSync(path) : path);

function readMaps(): string {
  return process.platform === "linux" ? readFileSync("/proc/self/maps", "utf8") : "";
}

/**
 * Refuses to load a second libtorch beside one that is in the process: the addon would be bound to the first.
 *
 * @param folder - of the libtorch that is to be loaded
 * @param maps - what the process has in memory, as Linux lists it
 * @throws ERR_STATE that names both
 */
export function requireOneLibtorch(folder: string, maps: string = readMaps()): void {
  const paths = [...maps.matchAll(/ (\/\S.*\/libtorch_cpu\.so)(?: \(deleted\))?$/gm)].map(([, path]) => path);
  const own = join(folder, "lib", "libtorch_cpu.so");
  const other = paths.find((path) => path !== undefined && path !== realOf(own));
  if (other === undefined) return;
  throw new SeekError(
    "ERR_STATE",
    `libtorch is in this process already, from ${other}; seekrl has ${own}, and one process holds one libtorch. ` +
      "Remedy: use seekrl in a process of its own, or set SEEKRL_LIBTORCH to the other's folder, if it is of the same version.",
  );
}

/** Where all copies of seekrl in a thread can see it, whatever loaded them. */
const key = Symbol.for("seekrl.addon");

/**
 * Refuses a second addon beside that of another copy of seekrl: both would set up the same libtorch.
 *
 * @param folder - of the addon that is to be loaded
 * @param known - where the first one is noted
 * @throws ERR_STATE that names both
 */
export function requireOneAddon(
  folder: string,
  known: { [key]?: string } = globalThis as { [key]?: string },
): void {
  const own = realOf(folder);
  if ((known[key] ?? own) === own) return;
  throw new SeekError(
    "ERR_STATE",
    `seekrl's addon is in this process already, from ${known[key]}; this copy of seekrl has ${own}, and one process holds one. ` +
      "Remedy: npm ls seekrl says who brings which; ask for one version.",
  );
}

/**
 * Notes the addon that this process holds; one that did not load keeps no other away.
 *
 * @param folder - of the addon
 * @param known - where it is noted
 */
export function noteAddon(
  folder: string,
  known: { [key]?: string } = globalThis as { [key]?: string },
): void {
  known[key] = realOf(folder);
}

/** The files of an optimiser's state: one, or one of each rank. */
import { readdir } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const extension = ".safetensors";
const padded = (number: number): string => String(number).padStart(5, "0");

/** What a rank writes in place of `path`. */
export function partPath(path: string, rank: number, size: number): string {
  return `${path.slice(0, -extension.length)}-${padded(rank + 1)}-of-${padded(size)}${extension}`;
}

/** The files that hold a state: `path` itself, or the parts beside it, in their order. */
export async function partsOn(path: string): Promise<string[]> {
  const folder = dirname(path);
  const [name, stem] = [basename(path), basename(path, extension)];
  const names = await readdir(folder).catch(() => [] as string[]);
  const parts = names.filter(
    (each) => each.startsWith(`${stem}-`) && /-\d{5}-of-\d{5}\.safetensors$/.test(each),
  );
  return names.includes(name) || parts.length === 0 ? [path] : parts.sort().map((each) => join(folder, each));
}

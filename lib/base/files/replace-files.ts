/** Files that belong together replace those of an earlier save, all of them or none. */
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { refusedWrite } from "../disk/refused-write.ts";
import { makeFolder, syncFolder } from "./files.ts";

/** Holds the files while they are written; a kill may leave it behind, and the next save removes it. */
const stagingName = ".writing";

/** Which files belong together. */
interface FileSet {
  /** The file without which no reader opens the folder: away while the others change. */
  readonly opener: string;
  /** Puts the files into the folder it is given. */
  readonly write: (staging: string) => Promise<void>;
  /** Which files of an earlier save go where they are not written again. */
  readonly isOld: (name: string) => boolean;
}

/**
 * Writes the files beside those that are there, then puts them in their place: whoever opens the folder meanwhile, or after a
 * kill, finds the old ones, the new ones, or no opener; never some of both.
 *
 * @param folder made when missing; its other files stay
 * @param files what is written
 * @throws ERR_IO when the file system refuses: the files that were there are left as they were
 */
export async function replaceFiles(folder: string, { opener, write, isOld }: FileSet): Promise<void> {
  const staging = join(folder, stagingName);
  await rm(staging, { recursive: true, force: true });
  await makeFolder(staging);
  try {
    await write(staging);
    await putInPlace(folder, staging, { opener, isOld }).catch((cause: unknown) => {
      throw refusedWrite(folder, cause);
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

async function putInPlace(
  folder: string,
  staging: string,
  { opener, isOld }: Omit<FileSet, "write">,
): Promise<void> {
  const names = await readdir(staging);
  await rm(join(folder, opener), { force: true });
  await syncFolder(folder);
  for (const name of names) if (name !== opener) await rename(join(staging, name), join(folder, name));
  for (const name of await readdir(folder))
    if (isOld(name) && !names.includes(name)) await rm(join(folder, name));
  await rename(join(staging, opener), join(folder, opener));
  await syncFolder(folder);
}

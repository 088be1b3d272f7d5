/** Which files of an index were checked or written here, and have not been touched since. */
import type { BigIntStats } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { checkRegular, readText } from "../../base/files/regular-file.ts";
import { lazySchema } from "../../base/on-first-use.ts";

/** The file's name. It belongs to this machine: a copy of the index finds its files unknown and checks them. */
export const knownFilesFile = "checked.json";

/**
 * How finely file systems tell time, at worst. A file that is changed within the same tick as it was looked at has the
 * old time; so a look at a file that young is not relied upon.
 */
const tickMs = 20;

const markSchema = lazySchema((z) => z.record(z.string(), z.string()));
const decimal = (value: bigint): string => value.toString();
const markOf = ({ size, ctimeNs, ino }: BigIntStats): string => [size, ctimeNs, ino].map(decimal).join(" ");

async function statOf(path: string): Promise<BigIntStats> {
  await checkRegular(path);
  return stat(path, { bigint: true }).catch((cause) => {
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${cause.message}`, { cause });
  });
}

async function readMarks(folder: string): Promise<Record<string, string>> {
  try {
    return markSchema().parse(JSON.parse(await readText(join(folder, knownFilesFile))));
  } catch {
    // Without it, or with a damaged one, files are checked once more.
    return {};
  }
}

/** A file as it stands now. */
interface FileState {
  /** Relative to the index. */
  readonly file: string;
  readonly bytes: number;
  /** Nobody has touched it since it was checked or written here. */
  readonly isKnown: boolean;
  readonly stats: BigIntStats;
}

/** The files of one index folder. */
export class KnownFiles {
  readonly #folder: string;
  readonly #before: Readonly<Record<string, string>>;
  readonly #now: Record<string, string>;
  #youngestMs = 0;

  private constructor(folder: string, before: Readonly<Record<string, string>>) {
    this.#folder = folder;
    this.#before = before;
    this.#now = { ...before };
  }

  /** What is known of a folder's files; nothing, when it does not say. */
  static async read(folder: string): Promise<KnownFiles> {
    return new KnownFiles(folder, await readMarks(folder));
  }

  /** Looks at a file, before it is opened. @throws ERR_IO when it is not there, or is no file */
  async look(file: string): Promise<FileState> {
    const stats = await statOf(join(this.#folder, file));
    return { file, bytes: Number(stats.size), isKnown: this.#before[file] === markOf(stats), stats };
  }

  /** Takes a file for good, as it stood when it was looked at. */
  trust({ file, stats }: FileState): void {
    this.#now[file] = markOf(stats);
    this.#youngestMs = Math.max(this.#youngestMs, Number(stats.ctimeNs / 1_000_000n));
  }

  /** Writes down which of `files` are good. In a folder that cannot be written this does nothing. */
  async save(files: readonly string[]): Promise<void> {
    const names = files.filter((name) => this.#now[name] !== undefined).sort();
    const isAsBefore = names.every((name) => this.#now[name] === this.#before[name]);
    if (isAsBefore && names.length === Object.keys(this.#before).length) return;
    const ageMs = Math.max(0, Date.now() - this.#youngestMs);
    if (ageMs < tickMs) await new Promise((resolve) => setTimeout(resolve, tickMs - ageMs));
    const text = `${JSON.stringify(this.#now, names, 2)}\n`;
    await writeFileAtomic(join(this.#folder, knownFilesFile), text).catch(() => undefined);
  }
}

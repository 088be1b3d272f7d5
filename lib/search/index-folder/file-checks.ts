/** Opens the files of an index: sizes are compared with the manifest, contents read only where they are not known. */
import { join } from "node:path";
import { SeekError } from "../../base/errors.ts";
import { KnownFiles } from "./known-files.ts";
import { listFiles, type Manifest, type SegmentEntry, segmentFolder } from "./manifest.ts";

/**
 * Whose every byte is read and checked before use: `touched` files that were neither checked nor written on this
 * machine, or have changed since; `all` of them; or `none`.
 */
export type Verify = "touched" | "all" | "none";

/** Of an option `verify`. */
export const verifyKind: readonly Verify[] = ["touched", "all", "none"];

/** The checks of one opening. */
export class FileChecks {
  readonly #folder: string;
  readonly #verify: Verify;
  readonly #known: KnownFiles;
  #checkedBytes = 0;

  private constructor(folder: string, verify: Verify, known: KnownFiles) {
    this.#folder = folder;
    this.#verify = verify;
    this.#known = known;
  }

  /** Begins an opening of `folder`. */
  static async begin(folder: string, verify: Verify): Promise<FileChecks> {
    return new FileChecks(folder, verify, await KnownFiles.read(folder));
  }

  /** How much was read to check it. */
  get checkedBytes(): number {
    return this.#checkedBytes;
  }

  /**
   * Opens one file.
   *
   * @param file relative to the folder
   * @param bytes its size as the manifest has it; undefined when that does not name the file
   * @param open gets the path, and whether to check every byte
   * @throws ERR_IO when it is not there, ERR_FORMAT when it is not as it should be
   */
  async open<T>(
    file: string,
    bytes: number | undefined,
    open: (path: string, verify: boolean) => Promise<T>,
  ): Promise<T> {
    const path = join(this.#folder, file);
    if (bytes === undefined) throw new SeekError("ERR_FORMAT", `${path}: the manifest does not name it`);
    const state = await this.#known.look(file);
    if (state.bytes !== bytes)
      throw new SeekError("ERR_FORMAT", `${path}: expected ${bytes} bytes, got ${state.bytes}`);
    const verify = this.#verify === "all" || (this.#verify === "touched" && !state.isKnown);
    const opened = await open(path, verify);
    if (verify) this.#checkedBytes += bytes;
    if (verify || state.isKnown) this.#known.trust(state);
    return opened;
  }

  /** Compares sizes of a segment's parts with its count. @throws ERR_FORMAT */
  same(entry: SegmentEntry, sizes: readonly (number | undefined)[]): void {
    const other = sizes.find((size) => size !== undefined && size !== entry.count);
    if (other === undefined) return;
    const path = join(this.#folder, segmentFolder(entry));
    throw new SeekError("ERR_FORMAT", `${path}: expected ${entry.count} passages, got ${other}`);
  }

  /** Remembers which of the manifest's files are good. */
  async end(manifest: Manifest): Promise<void> {
    await this.#known.save(listFiles(manifest).map(([path]) => path));
  }
}

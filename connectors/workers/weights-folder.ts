/** Weights written for workers: one folder a version, and only the last one stays. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { makeFolder } from "../../lib/base/files/files.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import type { Policy } from "../../lib/model/policy.ts";
import type { WrittenWeights } from "./servers/token-server.ts";

/** A folder of versions. */
export class WeightsFolder {
  readonly #folder: string;
  readonly #isTemporary: boolean;
  /** What its versions begin with. */
  readonly #prefix: string;
  #written: string | undefined;

  private constructor(folder: string, prefix: string, isTemporary: boolean) {
    this.#folder = folder;
    this.#prefix = prefix;
    this.#isTemporary = isTemporary;
  }

  /**
   * @param folder - made when missing; `@default` a temporary one
   * @param rank - of those that write into the same one, `@default` this process alone
   * @throws ERR_IO
   */
  static async open(folder: string | undefined, rank?: number): Promise<WeightsFolder> {
    const prefix = rank === undefined ? "" : `rank-${rank}-`;
    if (folder === undefined)
      return new WeightsFolder(await mkdtemp(join(tmpdir(), "seekrl-push-")), prefix, true);
    await makeFolder(folder);
    return new WeightsFolder(resolve(folder), prefix, false);
  }

  /** Writes a policy as it is now. @throws ERR_IO; ERR_RANGE when a weight is not finite */
  async write(policy: Policy): Promise<WrittenWeights> {
    for (;;) {
      const version = policy.weightsVersion;
      const folder = join(this.#folder, `${this.#prefix}version-${version}`);
      await policy.save(folder);
      const before = this.#written;
      this.#written = folder;
      if (before !== undefined && before !== folder) await remove(before);
      // A step that came between may be in the files.
      if (policy.weightsVersion === version) return { folder, isAdapter: policy instanceof Adapter, version };
    }
  }

  /** Removes what was written. */
  async close(): Promise<void> {
    if (this.#written !== undefined) await remove(this.#written);
    if (this.#isTemporary) await remove(this.#folder);
  }
}

async function remove(folder: string): Promise<void> {
  await rm(folder, { recursive: true, force: true });
}

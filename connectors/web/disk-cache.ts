/** A cache of answers on disk with an age limit: a file each, written whole or not at all, named by a hash of its key. */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { z } from "zod";
import { optionsOf } from "../../lib/base/check-options.ts";
import { writeFileAtomic } from "../../lib/base/files/files.ts";
import { findText } from "../../lib/base/files/regular-file.ts";
import { zod } from "../../lib/base/on-first-use.ts";

/** Where and for how long. */
export interface DiskCacheOptions {
  readonly folder: string;
  /** Older answers are asked for again, milliseconds. @default 7 days */
  readonly maxAgeMs?: number;
}

/** Of an option `cache`. */
export const diskCacheKind = optionsOf<DiskCacheOptions>({ folder: "string", maxAgeMs: "number" }, [
  "folder",
]);

const week = 7 * 24 * 3_600_000;

/** Values by key. Files that are broken, of another key or too old are as good as none. */
export class DiskCache<Value> {
  readonly #folder: string;
  readonly #maxAgeMs: number;
  readonly #schema: z.ZodType<{ key: string; time: number; value: Value }>;

  constructor({ folder, maxAgeMs = week }: DiskCacheOptions, schema: z.ZodType<Value>) {
    this.#folder = folder;
    this.#maxAgeMs = maxAgeMs;
    this.#schema = zod().object({ key: zod().string(), time: zod().number(), value: schema });
  }

  async get(key: string): Promise<Value | undefined> {
    const text = await findText(this.#path(key));
    if (text === undefined) return undefined;
    const parsed = this.#schema.safeParse(parse(text));
    if (!parsed.success || parsed.data.key !== key) return undefined;
    const age = Date.now() - parsed.data.time;
    return age >= 0 && age < this.#maxAgeMs ? parsed.data.value : undefined;
  }

  /** @throws ERR_IO */
  async set(key: string, value: Value): Promise<void> {
    await writeFileAtomic(this.#path(key), JSON.stringify({ key, time: Date.now(), value }));
  }

  /** Folders of at most some thousand files, for file systems that mind. */
  #path(key: string): string {
    const hash = createHash("sha256").update(key).digest("hex");
    return join(this.#folder, hash.slice(0, 2), `${hash.slice(2, 34)}.json`);
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

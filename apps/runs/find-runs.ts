/** Finds run folders and files of results below folders that were named. */
import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { SeekError } from "../../lib/base/errors.ts";
import { openRegular } from "../../lib/base/files/regular-file.ts";

/** A run folder or a file of results. */
export interface FoundPath {
  readonly path: string;
  /** The folder or file that was named and that it was found at or below. */
  readonly root: string;
}

/** What stands below some folders. */
interface FoundRuns {
  readonly runs: readonly FoundPath[];
  /** Files of results, as `eval --out` writes them. */
  readonly evaluations: readonly FoundPath[];
}

/** Levels below a root that are looked at: `runs/demo/single-seed-0` is at two. */
const maxDepth = 4;
/** Folders that are looked at below one root: a root was meant to hold runs, not a disk. */
const maxFolders = 5000;
/** Of the first line of a file: a result says what it is at its beginning. */
const maxFirstLine = 1 << 20;

const runLogs = new Set(["metrics.jsonl", "trajectories.jsonl"]);
/** Folders that hold no runs and may be large. */
const otherFolders = new Set(["checkpoints", "model", "tensorboard", "node_modules"]);

/**
 * Looks for runs and results.
 *
 * @param roots - run folders, folders of run folders, or files of results
 * @returns each path once, below the first root that has it
 * @throws ERR_IO for a root that is not there
 */
export async function findRuns(roots: readonly string[]): Promise<FoundRuns> {
  const [runs, evaluations] = [new Map<string, FoundPath>(), new Map<string, FoundPath>()];
  for (const given of roots) {
    const root = resolve(given);
    const kind = await stat(root).catch((cause) => {
      throw new SeekError("ERR_IO", `${given}: cannot be read: ${cause.message}`, { cause });
    });
    if (!kind.isDirectory()) {
      if (await holdsResults(root)) evaluations.set(root, { path: root, root });
      continue;
    }
    for await (const { folder, files } of foldersBelow(root)) {
      if (files.includes("metrics.jsonl") && !runs.has(folder)) runs.set(folder, { path: folder, root });
      for (const name of files) {
        const path = join(folder, name);
        if (!name.endsWith(".jsonl") || runLogs.has(name) || evaluations.has(path)) continue;
        if (await holdsResults(path)) evaluations.set(path, { path, root });
      }
    }
  }
  return { runs: [...runs.values()], evaluations: [...evaluations.values()] };
}

async function* foldersBelow(root: string): AsyncGenerator<{ folder: string; files: string[] }> {
  let level = [root];
  let count = 0;
  for (let depth = 0; depth <= maxDepth && level.length > 0; depth += 1) {
    const next: string[] = [];
    for (const folder of level) {
      count += 1;
      if (count > maxFolders) return;
      // What is removed meanwhile, or may not be read, holds nothing to show.
      const entries = await readdir(folder, { withFileTypes: true }).catch((): Dirent[] => []);
      yield { folder, files: entries.filter((each) => each.isFile()).map(({ name }) => name) };
      const below = entries.filter((each) => each.isDirectory() && !isOther(each.name));
      next.push(...below.map(({ name }) => join(folder, name)));
    }
    level = next;
  }
}

const isOther = (name: string): boolean => name.startsWith(".") || otherFolders.has(name);

/** Whether the first line of a file is a question's result. */
async function holdsResults(path: string): Promise<boolean> {
  // What may not be read holds nothing to show.
  const file = await openRegular(path).catch(() => undefined);
  if (file === undefined) return false;
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(maxFirstLine), 0, maxFirstLine, 0);
    const [line = ""] = buffer.toString("utf8", 0, bytesRead).split("\n", 1);
    const row: unknown = JSON.parse(line);
    const names = ["set", "index", "question", "em", "answer"];
    return typeof row === "object" && row !== null && names.every((name) => name in row);
  } catch {
    return false;
  } finally {
    await file.close();
  }
}

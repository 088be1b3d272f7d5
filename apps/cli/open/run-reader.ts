/** Opens a run's folder or a file of results to be read; neither is locked or changed. */
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { SeekError } from "../../../lib/base/errors.ts";
import type { Tokenizer } from "../../../lib/text/tokenizers/tokenizer.ts";
import type { ExportedRun } from "../../runs/export/exported.ts";
import { exportedEvaluation } from "../../runs/export/exported-evaluation.ts";
import { exportedRun } from "../../runs/export/exported-run.ts";
import { RunFolder } from "../../runs/run-folder.ts";
import { findTokenizer } from "./local-policy.ts";

/** Whether a path is a file, such as one of results. @throws ERR_IO for one that is not there */
export async function isFile(path: string): Promise<boolean> {
  const kind = await stat(path).catch((cause: Error) => {
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${cause.message}`, { cause });
  });
  return !kind.isDirectory();
}

/**
 * A run's folder.
 *
 * @throws ERR_IO for a path that is not there; ERR_FORMAT for what is no run
 */
export async function openRun(path: string): Promise<RunFolder> {
  if (!(await isFile(path)) && existsSync(join(path, "metrics.jsonl"))) return new RunFolder(path);
  const remedy = `Remedy: seekrl runs list ${path} shows those below a folder`;
  throw new SeekError("ERR_FORMAT", `${path}: expected a run's folder, with metrics.jsonl. ${remedy}`);
}

/**
 * A run or an evaluation as plain data.
 *
 * @param path - a run's folder or a file of results
 * @param options - `hasTokens` also gives the texts of single tokens, where the tokenizer is found
 * @throws as `openRun`; ERR_FORMAT for a file that holds no results
 */
export async function readRun(
  path: string,
  { hasTokens = false }: { readonly hasTokens?: boolean } = {},
): Promise<ExportedRun> {
  if (await isFile(path)) return exportedEvaluation(path);
  const run = await openRun(path);
  return exportedRun(run, { tokenizer: hasTokens ? await tokenizerOf(run) : undefined });
}

/** That of its model. */
async function tokenizerOf(run: RunFolder): Promise<Tokenizer | undefined> {
  const folder = (await run.modelFolders()).find((each) => existsSync(join(each, "tokenizer.json")));
  return folder === undefined ? undefined : findTokenizer(folder);
}

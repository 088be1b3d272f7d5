/** What a training's run folder is told of the command's options. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { digestOfFile } from "../../../lib/base/files/digests.ts";
import { manifestFile } from "../../../lib/index-folder/manifest.ts";
import type { RunOptions } from "../../../lib/train/run/run.ts";
import { flagName } from "../flags.ts";

/** Options that a resumed run may have otherwise, because they do not decide what is learnt. */
export const freeOptions: ReadonlySet<string> = new Set([
  ...["out", "steps", "epochs", "checkpointEvery", "keep", "tensorboard", "onCollapse", "dryRun"],
  ...["device", "cacheGib", "microBatchTokens"],
  ...["evalQuestions", "evalEvery", "evalFirst", "validation"],
  ...["retriever", "retrieverKeyEnv", "webUrl", "webCache", "rewardUrl", "rewardKeyEnv"],
  ...["judgeUrl", "judgeKeyEnv", "judgeCache", "judgeConcurrency"],
]);

/** Options that name files or folders: their content is compared, wherever they stand. */
const contentOptions: ReadonlySet<string> = new Set([
  ...["model", "data", "questions", "index", "indexEncoder", "reranker", "tools"],
  ...["promptFile", "judgePrompt", "relevancePrompt"],
]);

/** Of a model folder: weights, configuration, tokenizer. */
const modelFile = /\.(json|safetensors|model|txt|jinja)$/;

async function digestOfContent(path: string): Promise<string> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return digestOfFile(path);
  const names = (await readdir(path)).sort();
  // An index is what its manifest says, which names every file of it.
  const counted = names.includes(manifestFile)
    ? [manifestFile]
    : names.filter((name) => modelFile.test(name));
  const hash = createHash("sha256");
  for (const name of counted) hash.update(`${name} ${await digestOfFile(join(path, name))}\n`);
  return hash.digest("hex");
}

async function settingOf(key: string, value: unknown): Promise<unknown> {
  if (value === undefined || !contentOptions.has(key)) return value;
  const digests = await Promise.all([value].flat().map((path) => digestOfContent(String(path))));
  return digests.map((digest) => `content ${digest.slice(0, 16)}`).join(", ");
}

/** The options of a command that trains. */
export interface RunFolderOptions {
  readonly out: string;
  readonly checkpointEvery: number;
  readonly keep: number;
  readonly tensorboard: boolean;
}

/**
 * The run's options: what decides the outcome, by the names of the flags, and all of it as it was resolved.
 *
 * @param given - every option of the command
 * @returns options of a run, without `best` and `onCheckpoint`
 * @throws ERR_IO when a file that is named cannot be read
 */
export async function runFolderOf(given: RunFolderOptions): Promise<RunOptions> {
  const deciding = Object.entries(given).filter(([key]) => !freeOptions.has(key));
  const settings: Record<string, unknown> = {};
  for (const [key, value] of deciding) settings[flagName(key)] = await settingOf(key, value);
  const { out: folder, checkpointEvery, keep, tensorboard: tensorBoard } = given;
  return { folder, checkpointEvery, keep, tensorBoard, settings, config: { ...given } };
}

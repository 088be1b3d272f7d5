/** The run folder of a training, from the command's options. */
import { createHash } from "node:crypto";
import { readdir, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { digestOfFile } from "../../../lib/base/files/digests.ts";
import { pinnedAddress } from "../../../lib/base/files/hub-cache.ts";
import { isOfIndex } from "../../../lib/search/index-folder/manifest.ts";
import { checkpointName, stepsDone } from "../../../lib/train/run/checkpoint.ts";
import type { RunOptions } from "../../../lib/train/run/run-options.ts";
import { isValues } from "../assignments.ts";
import { flagName } from "../flags.ts";

/** Options that a resumed run may have otherwise, because they do not decide what is learnt. */
const freeOptions: ReadonlySet<string> = new Set([
  ...[
    "out",
    "steps",
    "epochs",
    "checkpointEvery",
    "keep",
    "tensorboard",
    "logTokens",
    "onCollapse",
    "dryRun",
  ],
  ...["device", "cacheGib", "microBatchTokens", "activationGib", "optimizer.stateFolder", "zero"],
  ...["tensorParallel", "rolloutRanks"],
  ...["evalQuestions", "evalEvery", "evalFirst", "validation"],
  ...["retriever.url", "retriever.keyEnv", "web.url", "web.cache", "rewardKeyEnv"],
  ...["shards.urls", "shards.keyEnv", "shards.hedgeAfterMs"],
  ...["judge.url", "judge.keyEnv", "judge.cache", "judge.concurrency"],
  ...["worker", "workerFolder", "localRollouts"],
]);

/** Options that name files or folders: their content is compared, wherever they stand. */
const contentOptions: ReadonlySet<string> = new Set([
  ...["model", "adapter", "data", "questions", "index.folder", "index.encoder", "reranker.folder", "tools"],
  ...["recipe.promptFile", "judge.prompt", "judge.relevancePrompt"],
]);

/** Files and folders whose content is not compared. */
const otherPaths: ReadonlySet<string> = new Set([
  ...["out", "evalQuestions", "validation", "web.cache", "judge.cache", "optimizer.stateFolder"],
  "workerFolder",
]);

/** Of a model folder: weights, configuration, tokenizer. */
const modelFile = /\.(json|safetensors|model|txt|jinja)$/;

async function digestOfContent(path: string): Promise<string> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return digestOfFile(path);
  if (await isOfIndex(path)) {
    const { indexDigest } = await import("../../../lib/search/index-folder/info.ts");
    return indexDigest(path);
  }
  const hash = createHash("sha256");
  const names = (await readdir(path)).sort();
  for (const name of names.filter((each) => modelFile.test(each)))
    hash.update(`${name} ${await digestOfFile(join(path, name))}\n`);
  return hash.digest("hex");
}

async function settingOf(key: string, value: unknown): Promise<unknown> {
  if (value === undefined) return value;
  // A server may move; whether one rewards at all decides what is learnt.
  if (key === "rewardUrl") return "a server";
  if (!contentOptions.has(key)) return value;
  const digests = await Promise.all([value].flat().map((path) => digestOfContent(String(path))));
  return digests.map((digest) => `content ${digest.slice(0, 16)}`).join(", ");
}

/** Options by their path, `clip.low`, those of options too. */
function byPath(options: object, above = ""): [string, unknown][] {
  return Object.entries(options).flatMap(([key, value]) =>
    isValues(value) ? byPath(value, `${above}${key}.`) : [[`${above}${key}`, value]],
  );
}

/** A path from the root; what came from the hub by its name and commit, which hold on every machine. */
function wholePath(path: string): string {
  return pinnedAddress(path) ?? resolve(path);
}

/** Options with the paths in them from the root, so that they mean the same in every working directory. */
function withWholePaths(options: object, above = ""): Record<string, unknown> {
  const entries = Object.entries(options).map(([key, value]) => {
    if (isValues(value)) return [key, withWholePaths(value, `${above}${key}.`)];
    if (value === undefined || !(contentOptions.has(above + key) || otherPaths.has(above + key))) {
      return [key, value];
    }
    return [key, Array.isArray(value) ? value.map(wholePath) : wholePath(value)];
  });
  return Object.fromEntries(entries);
}

/** `--algorithm clip.low`: the flag, and the key behind it. */
function nameOf(path: string): string {
  const [key = "", ...inner] = path.split(".");
  return [flagName(key), inner.join(".")].filter((part) => part !== "").join(" ");
}

/** The options of a command that trains. */
interface RunFolderOptions {
  readonly out: string;
  readonly checkpointEvery: number;
  readonly keep: number;
  readonly tensorboard: boolean;
  /** Of `train` alone. */
  readonly logTokens?: boolean;
}

/** Steps that the run in a folder has done. */
export function doneIn(out: string): Promise<number> {
  return stepsDone(join(out, "checkpoints"));
}

/**
 * Where a training begins that has a folder already, in words; undefined for a new run, and one whose steps are done.
 *
 * @param given - `out`, and how often it writes a checkpoint
 * @param steps - that are asked for
 */
export async function beginningOf(
  { out, checkpointEvery }: Pick<RunFolderOptions, "out" | "checkpointEvery">,
  steps: number,
): Promise<string | undefined> {
  const done = await doneIn(out);
  if (done >= steps) return undefined;
  if (done > 0) return `resumes after step ${done} (${join(out, "checkpoints", checkpointName(done))})`;
  const { size } = await stat(join(out, "metrics.jsonl")).catch(() => ({ size: 0 }));
  if (size === 0) return undefined;
  return `begins again: the last run ended before its first checkpoint (--checkpoint-every ${checkpointEvery})`;
}

/**
 * The run's options: what decides the outcome, by the names of the flags, and every option for `config.yaml`.
 *
 * @param given - every option of the command, as it was resolved
 * @param compared - the same as a resumed run is compared with it
 * @returns options of a run, without `best` and `onCheckpoint`
 * @throws ERR_IO when a file that is named cannot be read
 */
export async function runFolderOf(
  given: RunFolderOptions,
  compared: RunFolderOptions = given,
): Promise<RunOptions> {
  const deciding = byPath(compared).filter(([path]) => !freeOptions.has(path));
  const settings: Record<string, unknown> = {};
  for (const [path, value] of deciding) settings[nameOf(path)] = await settingOf(path, value);
  const { out: folder, checkpointEvery, keep, tensorboard: tensorBoard, logTokens } = given;
  return { folder, checkpointEvery, keep, tensorBoard, logTokens, settings, config: withWholePaths(given) };
}

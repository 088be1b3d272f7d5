/** What is pushed: the model or adapter that a path means, whole, with the training that it comes from. */
import { existsSync } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { basename, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isModelFile } from "../../connectors/remote/hub/repository.ts";
import { LocalFile } from "../../connectors/remote/hub/upload/local-file.ts";
import type { UploadFile } from "../../connectors/remote/hub/upload/upload.ts";
import { SeekError } from "../../lib/base/errors.ts";
import { folderName, pinnedModel } from "../../lib/base/files/hub-cache.ts";
import { checkRegular, readText } from "../../lib/base/files/regular-file.ts";
import { readModel } from "../../lib/model/model-folder.ts";
import { adapterConfigFile, adapterFile, readPeftConfig } from "../../lib/model/peft-config.ts";
import { readSafetensorsHeader } from "../../lib/model/safetensors.ts";
import { RunFolder } from "../runs/run-folder.ts";

/** A model or an adapter, ready to be sent. */
export interface PushedFolder {
  /** Of the model itself. */
  readonly folder: string;
  readonly kind: "model" | "adapter";
  /** The training that made it, where its folder says so. */
  readonly run: RunFolder | undefined;
  /** Of a checkpoint. */
  readonly step: number | undefined;
  readonly files: readonly UploadFile[];
  /** Names of what else stands in the folder, and is not sent. */
  readonly leftOut: readonly string[];
}

interface Place {
  readonly folder: string;
  readonly run?: RunFolder;
  readonly step?: number;
}

const isRun = (folder: string): boolean => existsSync(join(folder, "metrics.jsonl"));

/**
 * Finds what a path means, and checks that it is whole.
 *
 * @param path - a model's or adapter's folder, a checkpoint's, or a run's, of which the final model is meant
 * @throws ERR_IO when it is not there; ERR_STATE for a run without a final model; ERR_FORMAT for what is no model
 */
export async function readPushed(path: string): Promise<PushedFolder> {
  const found = await stat(path).catch((cause: Error) => {
    throw new SeekError("ERR_IO", `${path}: cannot be read: ${cause.message}`, { cause });
  });
  if (!found.isDirectory()) throw noModel(path, "a folder, got a file");
  const { folder, run, step } = await placeOf(path);
  const names = await filesIn(folder);
  const isSent = (name: string): boolean =>
    isModelFile(name) ? !ofTraining.test(name) : aboutModel.test(name);
  const within = run?.folder ?? topOf(folder);
  for (const name of names.filter(isSent)) await checkRegular(join(folder, name), { within });
  const kind = await checkModel(folder);
  const files = await Promise.all(names.filter(isSent).map((name) => uploadFile(folder, name)));
  return { folder, kind, run, step, files, leftOut: names.filter((name) => !isSent(name)) };
}

/**
 * The folder that no link may lead out of, since the file of this user's that it leads to would be public: of a model in a
 * cache of the hub its repository's.
 */
function topOf(folder: string): string {
  const repository = resolve(folder, "..", "..");
  return pinnedModel(folder, dirname(repository)) === undefined ? folder : repository;
}

/** Of a checkpoint, for those who go on with the training. */
const ofTraining = /^(state\.json|trainer\.safetensors|critic\/)/;
/** Words about the model. */
const aboutModel = /^(README\.md|LICENSE[^/]*|NOTICE[^/]*)$/;

async function placeOf(path: string): Promise<Place> {
  const whole = await realpath(resolve(path));
  if (isRun(whole)) return finalModel(new RunFolder(path));
  const above = dirname(whole);
  if (basename(whole) === "model" && isRun(above)) return finalModel(new RunFolder(above));
  const [, step] = /^step-(\d+)$/.exec(basename(whole)) ?? [];
  const isCheckpoint = step !== undefined && basename(above) === "checkpoints" && isRun(dirname(above));
  return isCheckpoint
    ? { folder: whole, run: new RunFolder(dirname(above)), step: Number(step) }
    : { folder: path };
}

async function finalModel(run: RunFolder): Promise<Place> {
  const folder = join(run.folder, "model");
  const { state, step, steps, holder } = await run.status();
  const [newest] = await run.checkpoints();
  const other =
    newest === undefined ? "" : `; ${join(run.folder, "checkpoints", "best")} or step-* beside it`;
  if (state === "live") {
    const who = holder === undefined ? "a server that learns" : `process ${holder.pid} on ${holder.host}`;
    const what = `expected a run that has ended, got one at step ${step} that ${who} works on`;
    throw new SeekError("ERR_STATE", `${run.folder}: ${what}. Remedy: its end${other}`);
  }
  if (existsSync(folder) && state !== "stopped") return { folder, run };
  const what = `expected a final model, got a run at step ${step} of ${steps ?? "?"}`;
  throw new SeekError("ERR_STATE", `${run.folder}: ${what}. Remedy: the same training goes on${other}`);
}

function noModel(path: string, what: string): SeekError {
  const remedy = "Remedy: a model's folder (config.json, weights in safetensors), an adapter's, or a run's";
  return new SeekError("ERR_FORMAT", `${path}: expected ${what}. ${remedy}`);
}

/** Reads what the weights' files say of themselves, so that a half of one is not sent. */
async function checkModel(folder: string): Promise<PushedFolder["kind"]> {
  const isThere = (name: string): boolean => existsSync(join(folder, name));
  if (isThere("config.json")) {
    await readModel(folder);
    return "model";
  }
  if (!isThere(adapterConfigFile)) throw noModel(folder, `config.json or ${adapterConfigFile}, got neither`);
  await readPeftConfig(folder);
  await readSafetensorsHeader(join(folder, adapterFile));
  return "adapter";
}

/** Files below, by their paths with slashes; links count as what they lead to. */
async function filesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true });
  const kinds = await Promise.all(names.map((name) => stat(join(folder, name)).catch(() => undefined)));
  return names
    .filter((_, i) => kinds[i]?.isFile())
    .map((name) => name.split(sep).join("/"))
    .sort();
}

async function uploadFile(folder: string, name: string): Promise<UploadFile> {
  const path = join(folder, name);
  if (name === adapterConfigFile) return textFile(name, await adapterConfig(path));
  const { size } = await stat(path);
  return { name, numBytes: size, content: new LocalFile(path, { start: 0, end: size }) };
}

/** A file of a text. */
export function textFile(name: string, text: string): UploadFile {
  const content = new Blob([text]);
  return { name, numBytes: content.size, content };
}

/** Of a model that is a folder of this machine its last name: the path means nothing elsewhere, and tells of its user. */
async function adapterConfig(path: string): Promise<string> {
  const text = await readText(path);
  const config = JSON.parse(text) as Record<string, unknown>;
  const { base_model_name_or_path: base } = config;
  if (typeof base !== "string" || !isLocal(base)) return text;
  return `${JSON.stringify({ ...config, base_model_name_or_path: folderName(base) }, null, 2)}\n`;
}

/** Whether a model's name is a path of this machine. */
export function isLocal(name: string): boolean {
  return isAbsolute(name) || name.startsWith(".") || existsSync(name);
}

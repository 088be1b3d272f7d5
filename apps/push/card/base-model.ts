/** The model that a training began with, or that an adapter belongs to, as others know it. */
import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { hubModel } from "../../../connectors/remote/hub/hub-place.ts";
import { folderName, isCommit, pinnedModel } from "../../../lib/base/files/hub-cache.ts";
import { isOwnBase } from "../../../lib/model/base-form.ts";
import { adapterConfigFile, readPeftConfig } from "../../../lib/model/peft-config.ts";
import { recordFile } from "../../../lib/train/run/run-record.ts";
import { readRecord } from "../../runs/run-config.ts";
import { isLocal, type PushedFolder } from "../pushed-folder.ts";

/** A model by a name that means something elsewhere. */
export interface BaseModel {
  /** On the hub `OWNER/NAME`; of a folder its last name. */
  readonly name: string;
  readonly isOnHub: boolean;
  /** Of its repository. */
  readonly revision?: string | undefined;
}

/** Trainings that follow one another. */
const maxTrainings = 8;

/** @returns undefined where neither a run nor an adapter names one */
export async function baseModelOf({ folder, kind, run }: PushedFolder): Promise<BaseModel | undefined> {
  if (kind === "adapter") return baseOfAdapter(folder, maxTrainings);
  return run && baseOfRun(run.folder, maxTrainings);
}

/** What others named is not looked into: it would come into the card. */
async function baseOfRun(folder: string, left: number): Promise<BaseModel | undefined> {
  const { config: { model } = {}, isOwn } = (await readRecord(folder)) ?? {};
  return typeof model === "string" ? baseAt(model, isOwn ? left : 0) : undefined;
}

async function baseOfAdapter(folder: string, left: number): Promise<BaseModel | undefined> {
  const { base, revision } = await readPeftConfig(folder);
  if (base === undefined) return undefined;
  const isName = !isLocal(base) && hubModel(base) !== undefined;
  return isName
    ? { name: base, isOnHub: true, revision }
    : baseAt(base, (await isOwnBase(folder, base)) ? left : 0);
}

/** What stands at a path; of the outcome of another training what that one began with. */
async function baseAt(path: string, left: number): Promise<BaseModel> {
  const own = path.startsWith("hf://") ? hubModel(path) : undefined;
  if (own !== undefined) return { name: own.id, isOnHub: true, revision: own.revision };
  const pinned = pinnedModel(path);
  if (pinned !== undefined) return { name: pinned.id, isOnHub: true, revision: pinned.commit };
  return (left > 0 ? await baseBefore(path, left - 1) : undefined) ?? nameOf(path);
}

/** A run's final model is called as the run is. */
function nameOf(path: string): BaseModel {
  const isOfRun = basename(path) === "model" && existsSync(join(dirname(path), recordFile));
  return { name: folderName(isOfRun ? dirname(path) : path), isOnHub: false };
}

async function baseBefore(path: string, left: number): Promise<BaseModel | undefined> {
  if (existsSync(join(path, adapterConfigFile)) && !existsSync(join(path, "config.json")))
    return baseOfAdapter(path, left);
  return basename(path) === "model" ? baseOfRun(dirname(path), left) : undefined;
}

/** The commit of a model that is pinned to one. */
export function pinnedCommit({ revision }: BaseModel): string | undefined {
  return revision !== undefined && isCommit(revision) ? revision : undefined;
}

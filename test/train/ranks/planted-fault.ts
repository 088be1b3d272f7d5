/** What goes wrong on one rank while a checkpoint is written, at the same place in every run. */
import { spawnSync } from "node:child_process";
import fs from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, writeFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { dirname, join } from "node:path";
import { Learner } from "../../../lib/train/learner/learner.ts";
import { partPath } from "../../../lib/train/learner/state-files.ts";
import { checkpointName } from "../../../lib/train/run/checkpoint.ts";

/**
 * Killed `before`, `within` or `after` its part, or as rank 0 right before (`naming`) or after (`named`) the folder becomes a
 * checkpoint; or its part meets a disk that is `full`, or a name that is `taken`.
 */
export type FaultPlace = "before" | "within" | "after" | "naming" | "named" | "full" | "taken";

/** Where, and in the checkpoint of which step. */
export interface PlantedFault {
  readonly at: FaultPlace;
  readonly rank: number;
  readonly step: number;
}

function die(): Promise<never> {
  process.kill(process.pid, "SIGKILL");
  return new Promise(() => {});
}

type SaveState = (this: Learner, path: string) => Promise<void>;

/** A part of which a half is there, under its own name. */
async function writeHalf(learner: Learner, path: string, save: SaveState): Promise<void> {
  const elsewhere = await mkdtemp(join(dirname(path), "half-"));
  await save.call(learner, join(elsewhere, "trainer.safetensors"));
  const [name] = await readdir(elsewhere);
  const whole = await readFile(join(elsewhere, name!));
  await writeFile(join(dirname(path), name!), whole.subarray(0, whole.length / 2));
}

function plantInPart({ at, rank, step }: PlantedFault): void {
  const save: SaveState = Learner.prototype.saveState;
  Learner.prototype.saveState = async function (path) {
    if (!path.includes(checkpointName(step))) return save.call(this, path);
    if (at === "before") await die();
    if (at === "within") await writeHalf(this, path, save).then(die);
    // The system refuses what makes a file longer than this many bytes.
    if (at === "full") spawnSync("prlimit", ["--pid", `${process.pid}`, "--fsize=2000"]);
    if (at === "taken") await mkdir(partPath(path, rank, this.processGroup!.size));
    await save.call(this, path);
    await die();
  };
}

function plantInName({ at, step }: PlantedFault): void {
  const { rename } = fs.promises;
  fs.promises.rename = async (from, to) => {
    const isNaming = `${to}`.endsWith(`/${checkpointName(step)}`);
    if (isNaming && at === "naming") await die();
    await rename(from, to);
    if (isNaming) await die();
  };
  syncBuiltinESMExports();
}

/** Plants it, where this is the rank. */
export function plantFault(fault: PlantedFault, ownRank: number): void {
  if (fault.rank !== ownRank) return;
  if (fault.at === "naming" || fault.at === "named") plantInName(fault);
  else plantInPart(fault);
}

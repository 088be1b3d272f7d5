/** Launches of a tuning that only tells its plan. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { writeTinyModel } from "../../tiny-folder.ts";

export const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

export const inFolder = (name: string): string[] => ["--logs", join(folder, name)];
export const model = join(folder, "model");
await writeTinyModel(model);
export const data = join(folder, "sft.jsonl");
await writeFile(data, `${JSON.stringify({ prompt: "capital?", completion: "Paris" })}\n`);
export const tuning = ["sft", "--model", model, "--data", data, "--out", join(folder, "sft"), "--dry-run"];
/** How often a plan was told. */
export const numPlans = (text: string): number => text.split("\nupdates ").length - 1;

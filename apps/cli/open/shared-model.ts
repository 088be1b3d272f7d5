/** A model that all processes of a job share: the first loads it and tells the others, who do their part until it is closed. */
import type { ProcessGroup } from "../../../lib/comm/process-group.ts";
import type { LoadOptions } from "../../../lib/model/model.ts";

/** What the others need to load their slices. */
interface SharedModel extends Pick<LoadOptions, "dtype" | "weights" | "device" | "contextTokens"> {
  readonly folder: string;
}

const what = "which model is shared";

/** Tells the others which model comes next, on the first rank. */
export async function tellModel(group: ProcessGroup, model: SharedModel): Promise<void> {
  await group.broadcast<SharedModel | undefined>(what, model);
}

/** Tells the others that no model comes any more. */
export async function tellEnd(group: ProcessGroup): Promise<void> {
  await group.broadcast<SharedModel | undefined>(what, undefined);
}

/** On every other rank: loads what the first loads, and does its part of what that does with it, until no model comes any more. */
export async function followModels(group: ProcessGroup): Promise<void> {
  const { Model } = await import("../../../lib/model/model.ts");
  for (;;) {
    const told = await group.broadcast<SharedModel | undefined>(what, undefined);
    if (told === undefined) return;
    const { folder, ...options } = told;
    await using model = await Model.load(folder, { ...options, tensorParallel: group });
    await model.follow();
  }
}

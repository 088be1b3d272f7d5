/** A checkpoint that the ranks of a job write together: it is there when all have written their parts, or not at all. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { SeekError } from "../../base/errors.ts";
import { writeFileAtomic } from "../../base/files/files.ts";
import { findText } from "../../base/files/regular-file.ts";
import type { ProcessGroup } from "../../comm/process-group.ts";
import { abandonCheckpoint, beginCheckpoint, type CheckpointDraft, finishCheckpoint } from "./checkpoint.ts";

/** What a rank adds to a checkpoint. */
interface OwnPart {
  readonly root: string;
  readonly step: number;
  readonly keep?: number | undefined;
  /** The step of the checkpoint that stays as the best. */
  readonly best?: number | undefined;
  /** Asked of the first rank alone. */
  readonly state: () => Promise<Readonly<Record<string, unknown>>>;
  /** Puts this rank's files into the folder. */
  readonly write: (folder: string) => Promise<void>;
}

const tokenFile = ".ranks";

interface SharedDraft extends CheckpointDraft {
  readonly token: string;
}

async function begin({ root, step }: OwnPart): Promise<SharedDraft> {
  const draft = { ...(await beginCheckpoint(root, step)), token: randomUUID() };
  await writeFileAtomic(join(draft.folder, tokenFile), draft.token);
  return draft;
}

async function checkSeen({ folder, token }: SharedDraft, rank: number): Promise<void> {
  const seen = (await findText(join(folder, tokenFile))) ?? "no such folder";
  if (seen === token) return;
  const what = `${folder}: expected the folder that rank 0 has made, got another or none on rank ${rank}, ${hostname()}`;
  throw new SeekError("ERR_IO", `${what}. Remedy: a run folder on a file system that all machines share`);
}

async function finish(draft: SharedDraft, { state, keep, best }: OwnPart): Promise<void> {
  await rm(join(draft.folder, tokenFile));
  await finishCheckpoint(draft, await state(), { keep, best });
}

/**
 * Writes a checkpoint; all ranks call it. What fails on one rank fails on all, and leaves none.
 *
 * @param part - what this rank writes
 * @param processGroup - the ranks
 * @throws ERR_IO where the file system refuses, or ranks do not see the same folder; what `write` and `state` throw
 */
export async function writeSharedCheckpoint(part: OwnPart, processGroup: ProcessGroup): Promise<void> {
  const { rank } = processGroup;
  const first = <Value>(what: string, work: () => Promise<Value>): Promise<Value> =>
    processGroup.broadcast(what, rank === 0 ? work() : (undefined as Value));
  const draft = await first("beginning a checkpoint", () => begin(part));
  try {
    // Before ranks write together: one that does not see the folder would not come.
    await processGroup.allGather("beginning a checkpoint", checkSeen(draft, rank));
    await processGroup.allGather("writing a checkpoint", part.write(draft.folder));
    await first("finishing a checkpoint", () => finish(draft, part));
  } catch (error) {
    if (rank === 0) await abandonCheckpoint(draft);
    throw error;
  }
}

/** A file that says which process works on something, for work that must not be done twice at once. */
import { mkdir, open, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { SeekError } from "../errors.ts";

const isCode = (cause: unknown, code: string): boolean => (cause as NodeJS.ErrnoException).code === code;

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (cause) {
    return isCode(cause, "EPERM");
  }
}

/** Whether the file is ours now. */
async function take(path: string): Promise<boolean> {
  try {
    const file = await open(path, "wx");
    await file.writeFile(String(process.pid));
    await file.close();
    return true;
  } catch (cause) {
    if (isCode(cause, "EEXIST")) return false;
    throw new SeekError("ERR_IO", `${path}: cannot be written: ${(cause as Error).message}`, { cause });
  }
}

/**
 * Holds a lock while work is done; one that a process left behind when it was killed is taken over. For one machine.
 *
 * @param path - the lock's file
 * @param work - what nobody else may do meanwhile
 * @throws ERR_STATE naming the process that holds it, ERR_IO, and what the work throws
 */
export async function withProcessLock<Result>(path: string, work: () => Promise<Result>): Promise<Result> {
  await mkdir(dirname(path), { recursive: true });
  if (!(await take(path))) {
    const holder = Number(await readFile(path, "utf8").catch(() => "0"));
    if (holder > 0 && isAlive(holder)) throw held(path, holder);
    await rm(path, { force: true });
    if (!(await take(path))) throw held(path, holder);
  }
  try {
    return await work();
  } finally {
    await rm(path, { force: true });
  }
}

const held = (path: string, holder: number): SeekError =>
  new SeekError("ERR_STATE", `${path}: expected to work alone, but process ${holder} is at it`);

/** Who works in a run's folder or on a file: what its lock says, and whether that is still so. */
import { existsSync } from "node:fs";
import { readdir, readFile, readlink, realpath } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { findText } from "../../lib/base/files/regular-file.ts";

/** The process that holds a folder or a file. */
export interface RunHolder {
  readonly pid: number;
  readonly host: string;
  /** `2026-11-23T08:00:00Z`. */
  readonly since: string;
  /** Whether it runs on this machine. */
  readonly isHere: boolean;
  /** Whether it is this very process. */
  readonly isOwn: boolean;
  /** Memory that it holds, bytes; undefined on another machine. */
  readonly memoryBytes: number | undefined;
}

/** What native/base/file_lock.cpp writes. */
const holderPattern = /^process (\d+) on (\S+) since (\S+)$/;

/**
 * Who holds the lock of a folder (`lock` in it) or of a file (`<path>.lock`). The lock itself is not touched: a process that
 * begins meanwhile would be refused. On this machine a holder is a process that has the lock's file open; of another machine
 * only its word is known.
 *
 * @param path - of the lock
 * @param proc - where the system lists processes; macOS has none
 * @returns undefined when nobody does
 */
export async function holderOf(path: string, proc = "/proc"): Promise<RunHolder | undefined> {
  const text = (await findText(path, { within: dirname(path) })) ?? "";
  const [, pidText = "", host = "", since = ""] = holderPattern.exec(text.trim()) ?? [];
  if (pidText === "") return undefined;
  const pid = Number(pidText);
  const isHere = host === hostname();
  if (isHere && !(await hasOpen(pid, path, proc))) return undefined;
  const memoryBytes = isHere ? await memoryOf(pid) : undefined;
  return { pid, host, since, isHere, isOwn: isHere && pid === process.pid, memoryBytes };
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

/** Whether a process of this machine has a file open; one that lives is believed to where it is another user's, or on macOS. */
async function hasOpen(pid: number, path: string, proc: string): Promise<boolean> {
  if (!existsSync(proc)) return isAlive(pid);
  const folder = `${proc}/${pid}/fd`;
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => error.code);
  if (!Array.isArray(names)) return names === "EACCES" || names === "EPERM";
  const wanted = await realpath(path).catch(() => path);
  const targets = await Promise.all(names.map((name) => readlink(join(folder, name)).catch(() => "")));
  return targets.includes(wanted);
}

async function memoryOf(pid: number): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, "utf8").catch(() => "");
  const [, kibibytes] = /^VmRSS:\s+(\d+) kB/m.exec(status) ?? [];
  return kibibytes === undefined ? undefined : Number(kibibytes) * 1024;
}

/** Lines that were typed in earlier chats, in a file of the user's. */
import { appendFile, mkdir, readFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";

/** Lines that are brought back. */
const maxLines = 1000;

/** The file: in `SEEKRL_STATE`, or in `seekrl` of the system's folder for such things; it may not exist yet. */
export function historyFile({ SEEKRL_STATE: own, XDG_STATE_HOME: system }: NodeJS.ProcessEnv): string {
  return join(own || join(system || join(homedir(), ".local", "state"), "seekrl"), "chat-history");
}

/** The last lines, the newest first; none where no file can be read. */
export async function readHistory(path: string): Promise<string[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  const lines = text.split("\n").filter((line) => line !== "");
  return lines.slice(-maxLines).reverse();
}

/** Adds a line, for this user alone to read. @throws what the file system says */
export async function addToHistory(path: string, line: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await appendFile(path, `${line}\n`, { mode: 0o600 });
}

/** The folder of files that can be fetched again. */
import { homedir } from "node:os";
import { join } from "node:path";

/** The user's cache folder of SeekRL: `SEEKRL_CACHE`, or `seekrl` in the system's; it may not exist yet. */
export function cacheFolder(name: string): string {
  const { SEEKRL_CACHE: own, XDG_CACHE_HOME: system } = process.env;
  return join(own || join(system || join(homedir(), ".cache"), "seekrl"), name);
}

/** The folders of files that can be fetched again. */
import { homedir } from "node:os";
import { join } from "node:path";

/** The user's cache folder of SeekRL: `SEEKRL_CACHE`, or `seekrl` in the system's; it may not exist yet. */
export function cacheFolder(name: string, environment: NodeJS.ProcessEnv = process.env): string {
  const { SEEKRL_CACHE: own, XDG_CACHE_HOME: system } = environment;
  return join(own || join(system || join(homedir(), ".cache"), "seekrl"), name);
}

/** The cache of the Hugging Face hub: `HF_HUB_CACHE`, or `hub` in `HF_HOME`, or in `huggingface` in the system's cache. */
export function hubCacheFolder(environment: NodeJS.ProcessEnv = process.env): string {
  const { HF_HUB_CACHE: own, HF_HOME: home, XDG_CACHE_HOME: system } = environment;
  return own || join(home || join(system || join(homedir(), ".cache"), "huggingface"), "hub");
}

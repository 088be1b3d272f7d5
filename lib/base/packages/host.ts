/** What this process runs on, as far as it decides which packages fit. */
import { existsSync, readFileSync } from "node:fs";
import { processReport } from "./process-report.ts";

/** The glibc that packages are made for; scripts/pack/baseline.mjs holds them to it. */
export const leastGlibc = "2.28";

/** The macOS that packages are made for, as CMakeLists.txt says; scripts/pack/baseline.mjs holds them to it. */
export const leastMacos = "14.0";

/** A platform, its C library and Node's interface to addons. */
export interface Host {
  /** For example `linux`. */
  readonly platform: string;
  /** For example `x64`. */
  readonly arch: string;
  /** Newest version of Node-API that this Node has. */
  readonly napi: number;
  /** glibc's version, for example `2.36`, or `unknown`; undefined where the C library is another, as on Alpine. */
  glibc(): string | undefined;
}

/** Whether glibc is what this process runs on: musl's library has another name. */
function isOnGlibc(): boolean {
  const maps = "/proc/self/maps";
  return existsSync(maps) && /\/libc(\.so\.6|-2\.\d+\.so)$/m.test(readFileSync(maps, "utf8"));
}

/** Not every program that runs JavaScript reports a version. */
const glibcVersion = (): string | undefined =>
  processReport().header?.glibcVersionRuntime ?? (isOnGlibc() ? "unknown" : undefined);

/** Whether a version of glibc is older than packages are made for; an unknown version is not old. */
export function isOldGlibc(version: string): boolean {
  if (version === "unknown") return false;
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [leastMajor = 0, leastMinor = 0] = leastGlibc.split(".").map(Number);
  return major < leastMajor || (major === leastMajor && minor < leastMinor);
}

/** The host of this process. */
export const thisHost: Host = {
  platform: process.platform,
  arch: process.arch,
  napi: Number(process.versions.napi),
  glibc: glibcVersion,
};

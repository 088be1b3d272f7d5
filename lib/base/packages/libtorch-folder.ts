/** The libtorch that an addon out of a package is loaded with. */
import { existsSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { cacheFolder } from "../disk/cache-folder.ts";
import { SeekError } from "../errors.ts";
import { installCommand } from "../package-root.ts";
import { type FoundPackage, libtorchPackage, packageFolder } from "./platform-package.ts";
import { checkSizes, readStamp, reinstall, type Stamp } from "./stamp.ts";

/** A folder with libtorch's `lib`. */
export interface LibtorchFolder {
  readonly folder: string;
  /** NVIDIA's libraries that a CUDA build needs, in an order in which each can be opened. */
  readonly needed?: readonly string[] | undefined;
  /** Where it is a package. */
  readonly stamp?: Stamp;
}

/** The version that a libtorch states, for example `2.13.0`; undefined when it states none. */
export function libtorchVersion(folder: string): string | undefined {
  for (const header of ["torch/headeronly/version.h", "torch/version.h"]) {
    const path = join(folder, "include", header);
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    const numbers = ["MAJOR", "MINOR", "PATCH"].map(
      (part) => new RegExp(`#define TORCH_VERSION_${part} (\\d+)`).exec(text)?.[1],
    );
    if (!numbers.includes(undefined)) return numbers.join(".");
  }
  return undefined;
}

/** Refuses a libtorch of another version than the addon was built for, of which it may be anything. */
function requireVersion(
  found: string | undefined,
  where: string,
  { stamp }: FoundPackage,
  remedy: string,
): void {
  if (found === stamp.libtorch) return;
  throw new SeekError(
    "ERR_STATE",
    `${stamp.package} ${stamp.version} is built for libtorch ${stamp.libtorch}, ${where} is ${found ?? "of an unknown version"}. ` +
      `Remedy: ${remedy}.`,
  );
}

/** What SEEKRL_LIBTORCH names: used or refused, never passed over. */
function namedFolder(name: string, addon: FoundPackage): LibtorchFolder {
  const folder = resolve(name);
  if (!existsSync(join(folder, "lib")))
    throw new SeekError(
      "ERR_STATE",
      `SEEKRL_LIBTORCH: ${folder}: expected a folder with lib and include. Remedy: name one, or unset it.`,
    );
  const remedy = `name a libtorch ${addon.stamp.libtorch}, or unset SEEKRL_LIBTORCH`;
  requireVersion(libtorchVersion(folder), `SEEKRL_LIBTORCH (${folder})`, addon, remedy);
  return { folder };
}

function parseChosen(file: string, remedy: string): LibtorchFolder {
  try {
    const chosen = JSON.parse(readFileSync(file, "utf8")) as LibtorchFolder;
    if (typeof chosen.folder === "string") return chosen;
  } catch (cause) {
    throw new SeekError("ERR_FORMAT", `${file}: cannot be read. Remedy: ${remedy}.`, { cause });
  }
  throw new SeekError("ERR_FORMAT", `${file}: names no folder. Remedy: ${remedy}.`);
}

/** What `seekrl setup cuda` chose for this user (scripts/setup/libtorch.mjs notes it), which is meant from then on. */
function chosenFolder(addon: FoundPackage, env: NodeJS.ProcessEnv): LibtorchFolder | undefined {
  const file = cacheFolder("libtorch.json", env);
  if (!existsSync(file)) return undefined;
  const remedy = `npx seekrl setup cuda, or remove ${file} to go on without a GPU`;
  const chosen = parseChosen(file, remedy);
  requireVersion(libtorchVersion(chosen.folder), chosen.folder, addon, remedy);
  return chosen;
}

/** The package of libtorch for the same platform. */
function packagedFolder(root: string, addon: FoundPackage): LibtorchFolder | undefined {
  const name = libtorchPackage(addon.stamp.package);
  const folder = packageFolder(root, name);
  if (folder === undefined) return undefined;
  const stamp = readStamp(folder, name);
  requireVersion(stamp.libtorch, `${name} (${folder})`, addon, reinstall(name));
  checkSizes(folder, stamp);
  return { folder, stamp };
}

/**
 * Finds the libtorch for an addon out of a package: SEEKRL_LIBTORCH, what `seekrl setup cuda` chose, the package of libtorch,
 * the CPU build in the set-up's cache.
 *
 * @param root - folder of `seekrl`
 * @param addon - the package of the addon
 * @param env - the process's variables
 * @returns of the version that the addon was built for
 * @throws ERR_STATE where there is none, or one of another version; ERR_FORMAT where the package is damaged
 */
export function findLibtorchFolder(
  root: string,
  addon: FoundPackage,
  env: NodeJS.ProcessEnv = process.env,
): LibtorchFolder {
  const named = env.SEEKRL_LIBTORCH;
  if (named) return namedFolder(named, addon);
  const found = chosenFolder(addon, env) ?? packagedFolder(root, addon);
  if (found !== undefined) return found;
  const { libtorch } = addon.stamp;
  const cached = cacheFolder(`libtorch-${libtorch}-cpu`, env);
  if (existsSync(cached)) return { folder: cached };
  throw new SeekError(
    "ERR_STATE",
    `libtorch ${libtorch} was not found: ${libtorchPackage(addon.stamp.package)} is not installed, and ` +
      `neither SEEKRL_LIBTORCH nor ${cached} is there. Remedy: install it with seekrl (` +
      `${installCommand}), or set SEEKRL_LIBTORCH to a libtorch ${libtorch}.`,
  );
}

/** Loads the native addon when it is first needed: libtorch's libraries by absolute path, then the engine. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { SeekError } from "../errors.ts";
import { buildCommand, packageRoot } from "../package-root.ts";
import type { Addon } from "./addon.ts";
import { type BuiltLibtorch, libtorchLibraries } from "./libtorch.ts";

interface Preload {
  openLibrary(path: string): void;
}

function load(): Addon {
  const require = createRequire(import.meta.url);
  const build = join(packageRoot, "build");
  const addonPath = join(build, "cmake", "Release", "seekrl.node");
  const libtorchPath = join(build, "libtorch.json");
  const missing = [addonPath, libtorchPath].find((path) => !existsSync(path));
  if (missing !== undefined) {
    throw new SeekError(
      "ERR_STATE",
      `the native addon is not built: ${missing} is missing. Remedy: ${buildCommand()}.`,
    );
  }
  const built = JSON.parse(readFileSync(libtorchPath, "utf8")) as BuiltLibtorch;
  const preload = require(join(build, "cmake", "Release", "seekrl_preload.node")) as Preload;
  for (const path of libtorchLibraries(built)) preload.openLibrary(path);
  const addon = require(addonPath) as Addon;
  addon.setErrorClass(SeekError);
  return addon;
}

let loaded: Addon | undefined;

/**
 * The native addon. The first call loads it and libtorch, so that what needs neither pays for neither.
 *
 * @returns the same object every time
 * @throws ERR_STATE when it is not built, or libtorch has moved
 */
export function native(): Addon {
  loaded ??= load();
  return loaded;
}

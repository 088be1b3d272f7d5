/** Loads the native addon: libtorch's libraries first, by absolute path, then the engine. */
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { SeekError } from "../errors.ts";
import { packageRoot } from "../package-root.ts";
import type { Addon } from "./addon.ts";
import { libtorchLibraries } from "./libtorch.ts";

interface Preload {
  openLibrary(path: string): void;
}

function load(): Addon {
  const require = createRequire(import.meta.url);
  const build = join(packageRoot, "build");
  const addonPath = join(build, "cmake", "Release", "seekrl.node");
  if (!existsSync(addonPath) || !existsSync(join(build, "libtorch.json"))) {
    throw new SeekError(
      "ERR_STATE",
      `the native addon is not built: ${addonPath} is missing. Run npm run build.`,
    );
  }
  const { folder } = JSON.parse(readFileSync(join(build, "libtorch.json"), "utf8")) as { folder: string };
  const preload = require(join(build, "cmake", "Release", "seekrl_preload.node")) as Preload;
  for (const path of libtorchLibraries(folder)) preload.openLibrary(path);
  return require(addonPath) as Addon;
}

/** The loaded addon; the first import of this module loads it. */
export const native: Addon = load();

/** Where the addon is: the build of a clone, or the package of this platform. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { SeekError } from "../errors.ts";
import { buildCommand, isClone, packageRoot } from "../package-root.ts";
import { type Host, thisHost } from "./host.ts";
import { findLibtorchFolder, type LibtorchFolder } from "./libtorch-folder.ts";
import { type FoundPackage, findPlatformPackage } from "./platform-package.ts";
import { isStale } from "./sources.ts";
import { checkSums } from "./stamp.ts";

/** Files to load, and what they came from. */
export interface FoundAddon {
  /** Of the addons; the library of kernels for GPUs stands beside them. */
  readonly folder: string;
  readonly libtorch: LibtorchFolder;
  /** Undefined in a clone. */
  readonly package: FoundPackage | undefined;
}

/** The addons' files: both are there in a build and in a package. */
export const addonFiles = { preload: "seekrl_preload.node", engine: "seekrl.node" } as const;

/** The library of kernels for GPUs, which stands beside them where it was built. */
export const kernelsFile = "libseekrl_cuda.so";

/** What makes one launch of a step's kernels, built with them. */
export const graphsFile = "libseekrl_graphs.so";

/** What a build says of itself. */
interface Build extends LibtorchFolder {
  /** The digest of the sources that it was made of. */
  readonly sources?: string | undefined;
}

function staleBuild(path: string, root: string): SeekError {
  const what = `the native addon ${path} is older than the sources in native, which are others by now`;
  return new SeekError("ERR_STATE", `${what}. Remedy: ${buildCommand(root)}.`);
}

/** What `npm run build` made, with the libtorch that it found. */
function findBuild(root: string): FoundAddon | undefined {
  const folder = join(root, "build", "cmake", "Release");
  const libtorch = join(root, "build", "libtorch.json");
  const own = Object.values(addonFiles).map((name) => join(folder, name));
  const missing = [...own, libtorch].find((path) => !existsSync(path));
  if (missing === undefined) {
    const { sources, ...built } = JSON.parse(readFileSync(libtorch, "utf8")) as Build;
    const engine = join(folder, addonFiles.engine);
    if (isClone(root) && isStale(root, libtorch, sources)) throw staleBuild(engine, root);
    return { folder, libtorch: built, package: undefined };
  }
  if (!isClone(root)) return undefined;
  throw new SeekError(
    "ERR_STATE",
    `the native addon is not built: ${missing} is missing. Remedy: ${buildCommand(root)}.`,
  );
}

/**
 * Finds the addon: a build beside `package.json`, else the platform's package, whose files are whole.
 *
 * @param root - folder of `seekrl`, this one unless given
 * @param host - what is run on
 * @param env - the process's variables
 * @returns where its files are
 * @throws ERR_STATE where there is none for this host, its parts are of several versions, or a clone's sources are newer than its
 *   build; ERR_FORMAT where it is damaged
 */
export function findAddon(
  root: string = packageRoot,
  host: Host = thisHost,
  env: NodeJS.ProcessEnv = process.env,
): FoundAddon {
  const build = findBuild(root);
  if (build !== undefined) return build;
  const found = findPlatformPackage(root, host);
  checkSums(found.folder, found.stamp, Object.values(addonFiles));
  return { folder: found.folder, libtorch: findLibtorchFolder(root, found, env), package: found };
}

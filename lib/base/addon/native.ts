/** Loads the native addon when it is first needed: libtorch's libraries by absolute path, then the engine. */
import { existsSync } from "node:fs";
import { createRequire } from "node:module";
import { basename, join } from "node:path";
import { explainedWrite } from "../disk/refused-write.ts";
import { type ErrorCode, SeekError } from "../errors.ts";
import { buildCommand } from "../package-root.ts";
import { addonFiles, findAddon, graphsFile, kernelsFile } from "../packages/find-addon.ts";
import { thisHost } from "../packages/host.ts";
import { loadFailure } from "../packages/load-failure.ts";
import { requireOneAddon, requireOneLibtorch } from "../packages/one-process.ts";
import { requireWhole } from "../packages/whole-library.ts";
import type { Addon } from "./addon.ts";
import { requireExports } from "./exports.ts";
import { libraryRemedy, libtorchLibraries } from "./libtorch.ts";

/** What native code throws: of a file that cannot be written it knows the system's words alone. */
class NativeError extends SeekError {
  constructor(code: ErrorCode, message: string) {
    super(code, code === "ERR_IO" ? explainedWrite(message) : message);
  }
}

// Node prints a class's own name where nobody catches its errors.
Object.defineProperty(NativeError, "name", { value: SeekError.name });

interface Preload {
  openLibrary(path: string): void;
}

/** @throws ERR_FORMAT where the loader would die of a file */
function requireAllWhole(own: readonly string[], libraries: readonly string[]): void {
  for (const path of own) requireWhole(path, `remove it, then ${buildCommand()}`);
  for (const path of libraries) requireWhole(path, libraryRemedy(path, { isThere: true }));
}

function open(folder: string, libraries: readonly string[]): Addon {
  const require = createRequire(import.meta.url);
  const own = [...Object.values(addonFiles), kernelsFile, graphsFile].map((name) => join(folder, name));
  requireAllWhole(
    own.filter((path) => existsSync(path)),
    libraries,
  );
  try {
    const preload = require(join(folder, addonFiles.preload)) as Preload;
    for (const path of libraries) preload.openLibrary(path);
    return require(join(folder, addonFiles.engine)) as Addon;
  } catch (cause) {
    throw loadFailure(cause, thisHost);
  }
}

function load(): Addon {
  const { folder, libtorch } = findAddon();
  const libraries = libtorchLibraries(libtorch);
  const engine = join(folder, addonFiles.engine);
  for (const path of libraries.filter((each) => basename(each).startsWith("libtorch_cpu.")))
    requireOneLibtorch(path);
  requireOneAddon(engine);
  const addon = open(folder, libraries);
  requireExports(addon, engine);
  addon.setErrorClass(NativeError);
  addon.instructionSet();
  return addon;
}

let loaded: Addon | undefined;

/**
 * The native addon. The first call loads it and libtorch, so that what needs neither pays for neither.
 *
 * @returns the same object every time
 * @throws ERR_STATE when there is none for this platform, it is not built, or cannot be loaded; ERR_FORMAT when a file of
 *   its package is damaged; ERR_ARGUMENT when SEEKRL_MAX_CPU_ISA names no instruction set
 */
export function native(): Addon {
  loaded ??= load();
  return loaded;
}

/** Which of libtorch's libraries a program opens before the addon. */
import { accessSync, constants, existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { SeekError } from "../errors.ts";
import { buildCommand, isClone } from "../package-root.ts";
import type { LibtorchFolder } from "../packages/libtorch-folder.ts";

interface Library {
  readonly name: string;
  readonly isNeeded: boolean;
}

/** In the order in which they need one another. libgomp may have another name, and the CUDA ones exist in a CUDA build only. */
const onLinux: readonly Library[] = [
  { name: "libgomp.so.1", isNeeded: false },
  { name: "libc10.so", isNeeded: true },
  { name: "libtorch_cpu.so", isNeeded: true },
  { name: "libc10_cuda.so", isNeeded: false },
  { name: "libtorch_cuda.so", isNeeded: false },
  { name: "libtorch.so", isNeeded: true },
];

const onMacos: readonly Library[] = [
  { name: "libomp.dylib", isNeeded: false },
  { name: "libc10.dylib", isNeeded: true },
  { name: "libtorch_cpu.dylib", isNeeded: true },
  { name: "libtorch.dylib", isNeeded: true },
];

/**
 * What brings a whole library: a clone builds against another libtorch, a package takes one that is whole.
 *
 * @param path - of the library
 * @param options - whether a file is there, which the set-up would take for a whole one
 */
export function libraryRemedy(path: string, { isThere }: { readonly isThere: boolean }): string {
  const isCuda = /^lib(cu|nv|nccl|c10_cuda|torch_cuda)/.test(basename(path));
  if (!isClone() && !isCuda)
    return "set SEEKRL_LIBTORCH to a whole libtorch, or unset it; npx seekrl setup cuda brings one for GPUs";
  const call = isClone() ? buildCommand() : "npx seekrl setup cuda";
  return isThere ? `remove the folder of this libtorch, then ${call}` : call;
}

/** @throws ERR_STATE unless a file may be read */
function requireReadable(path: string, folder: string): void {
  try {
    accessSync(path, constants.R_OK);
  } catch (cause) {
    const why = (cause as Error).message;
    const remedy = `Was it moved? Remedy: ${libraryRemedy(path, { isThere: false })}.`;
    throw new SeekError("ERR_STATE", `libtorch: expected ${basename(path)} in ${folder}: ${why}. ${remedy}`, {
      cause,
    });
  }
}

/**
 * The libraries of libtorch, in the order in which they are opened.
 *
 * @param built - the folder that the addon was built against, and what it needs beside it
 * @param platform - this one, unless given
 * @returns their paths
 * @throws ERR_STATE when one that is always there is missing or may not be read
 */
export function libtorchLibraries(
  { folder, needed = [] }: LibtorchFolder,
  platform: string = process.platform,
): string[] {
  for (const path of needed) requireReadable(path, dirname(path));
  const own = (platform === "darwin" ? onMacos : onLinux).flatMap(({ name, isNeeded }) => {
    const path = join(folder, "lib", name);
    if (isNeeded) requireReadable(path, folder);
    return isNeeded || existsSync(path) ? [path] : [];
  });
  return [...needed, ...own];
}

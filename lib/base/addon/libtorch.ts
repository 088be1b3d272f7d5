/** Which of libtorch's libraries a program opens before the addon. */
import { accessSync, constants } from "node:fs";
import { join } from "node:path";
import { SeekError } from "../errors.ts";
import { buildCommand } from "../package-root.ts";

/** In the order in which they need one another; the CUDA ones exist only in a CUDA build. */
const libraries = [
  { name: "libc10.so", isNeeded: true },
  { name: "libtorch_cpu.so", isNeeded: true },
  { name: "libc10_cuda.so", isNeeded: false },
  { name: "libtorch_cuda.so", isNeeded: false },
  { name: "libtorch.so", isNeeded: true },
];

/**
 * The libraries of a libtorch folder, in the order in which they are opened.
 *
 * @param folder - the one that the addon was built against
 * @returns their paths
 * @throws ERR_STATE when one that is always there is missing or may not be read
 */
export function libtorchLibraries(folder: string): string[] {
  return libraries.flatMap(({ name, isNeeded }) => {
    const path = join(folder, "lib", name);
    try {
      accessSync(path, constants.R_OK);
      return [path];
    } catch (cause) {
      if (!isNeeded) return [];
      const why = (cause as Error).message;
      const remedy = `Was it moved? Remedy: ${buildCommand()}.`;
      throw new SeekError("ERR_STATE", `libtorch: expected ${name} in ${folder}: ${why}. ${remedy}`, {
        cause,
      });
    }
  });
}

/** The C++ and CUDA files of the project. */
import { readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = join(dirname(fileURLToPath(import.meta.url)), "..");

export function nativeFiles() {
  return ["native", "test/native", "bench"]
    .flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
    )
    .filter((file) => /\.(h|cpp|cu|cuh|c)$/.test(file));
}

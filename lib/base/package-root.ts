/** Where the package is installed. */
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's own folder, found from the compiled file (`dist/lib/base`). */
export const packageRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

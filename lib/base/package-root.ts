/** Where the package is installed. */
import { existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's own folder, found from the compiled file (`dist/lib/base`). */
export const packageRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

/**
 * The command that builds the native addon, for messages: a checkout has one of its own.
 *
 * @returns to be typed in the checkout, or in the project that installed the package
 */
export function buildCommand(): string {
  return existsSync(join(packageRoot, "tsconfig.json")) ? "npm run build" : "npm rebuild seekrl";
}

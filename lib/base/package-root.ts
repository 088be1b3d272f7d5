/** Where the package is installed. */
import { existsSync, readFileSync } from "node:fs";
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

/** The package's version, as package.json has it. */
export function packageVersion(): string {
  return JSON.parse(readFileSync(join(packageRoot, "package.json"), "utf8")).version;
}

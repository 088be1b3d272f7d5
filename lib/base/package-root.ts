/** Where the package is installed. */
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package's own folder, found from the compiled file (`dist/lib/base`). */
export const packageRoot = join(dirname(fileURLToPath(import.meta.url)), "..", "..", "..");

/**
 * Whether a folder is a clone, with sources to build; an installed package has none.
 *
 * @param root - the package's own folder unless given
 * @returns true in a clone
 */
export function isClone(root: string = packageRoot): boolean {
  return existsSync(join(root, "tsconfig.json"));
}

/**
 * The command that brings the native addon, for messages: a clone builds it, elsewhere it comes in a package.
 *
 * @param root - the package's own folder unless given
 * @returns to be typed in the clone, or in the project that installed the package
 */
export function buildCommand(root: string = packageRoot): string {
  return isClone(root) ? "npm run build" : installCommand;
}

/** The command that installs what a project names, seekrl's packages for this platform included, wherever it has them from. */
export const installCommand = "npm install --include=optional";

/** The package's version, as package.json has it. */
export function packageVersion(root: string = packageRoot): string {
  return JSON.parse(readFileSync(join(root, "package.json"), "utf8")).version;
}

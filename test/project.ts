/** Where the project is, seen from a compiled test, and its programs that are not compiled. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "../lib/base/package-root.ts";

/** The checkout's folder. */
export const projectRoot = packageRoot;

/** A module of plain JavaScript, by its path in the checkout. */
export const importScript = (path: string) => import(pathToFileURL(join(projectRoot, path)).href);

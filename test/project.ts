/** Where the project is, seen from a compiled test. */
import { packageRoot } from "../lib/base/package-root.ts";

/** The checkout's folder. */
export const projectRoot = packageRoot;

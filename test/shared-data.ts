/** Real tokenizers, models, corpora and question sets, which are not of this repository: their tests are skipped without them. */
import { join } from "node:path";

const folder = process.env.SEEKRL_SHARED_DATA ?? "";

/** `skip` of a test that reads the real data. */
export const skipWithoutData = folder === "" && "SEEKRL_SHARED_DATA names no folder";

/** A path in the real data. */
export const sharedData = (...names: readonly string[]): string => join(folder, ...names);

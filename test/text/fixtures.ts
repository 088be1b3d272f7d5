/** The small reference data of test/golden/text; make_fixtures.py beside it says which programs made it. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { projectRoot } from "../project.ts";

/** The folder of tokenizers, templates and what the reference programs make of them. */
export const goldenText = join(projectRoot, "test/golden/text");

/** What a reference tokenizer gives for each text. */
export interface Encoded {
  readonly ids: readonly (readonly number[])[];
  readonly decoded: readonly string[];
  /** "Hello, world!" with the marks of the tokenizer's template. */
  readonly withSpecials?: readonly number[];
}

/** Reads one of the JSON files. */
export function readGolden<T>(name: string): T {
  return JSON.parse(readFileSync(join(goldenText, name), "utf8")) as T;
}

/** The texts, and for each tokenizer file their ids. */
export const expected = readGolden<{
  readonly texts: readonly string[];
  readonly tokenizers: Readonly<Record<string, Encoded>>;
}>("expected.json");

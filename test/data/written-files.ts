/** Files of questions in a folder of their own for each test, and what is read of them. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach } from "node:test";
import type { FormatName } from "../../lib/data/formats.ts";
import { type PrepareOptions, prepareQuestions } from "../../lib/data/prepare.ts";

export let folder = "";

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "seekrl-"));
});

afterEach(() => rm(folder, { recursive: true }));

export async function file(name: string, content: string | Uint8Array): Promise<string> {
  await writeFile(join(folder, name), content);
  return join(folder, name);
}

export const lines = (...rows: object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

export async function prepared(
  name: string,
  content: string | Uint8Array,
  format: FormatName,
  more: Partial<PrepareOptions> = {},
) {
  return prepareQuestions([{ path: await file(name, content) }], { format, ...more });
}

export const questionsOf = async (...args: Parameters<typeof prepared>) =>
  (await prepared(...args)).questions;

/** The shipped model and the built-in world as something to lint, and folders that differ from it in one file. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { Finding } from "../../apps/lint/finding.ts";
import { lint } from "../../apps/lint/lint.ts";
import type { LintSubject } from "../../apps/lint/subject.ts";
import { worldSearch } from "../../apps/lint/world-search.ts";
import { worldRecipe } from "../../apps/world/recipes/world.ts";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import type { Recipe } from "../../lib/recipes/recipe.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { projectRoot } from "../project.ts";

export const checkpoint = join(projectRoot, "world", "checkpoint");

await native().setNumThreads(1);
export const model = await Model.load(checkpoint);
const { search, question } = worldSearch();
const folders: string[] = [];

after(async () => {
  await Promise.all(folders.map((folder) => rm(folder, { recursive: true })));
});

/** A sound agent over the tokenizer and template of a folder. */
export async function subjectOf({
  folder = checkpoint,
  recipe = worldRecipe({ queries: "multi" }),
  weights = model,
}: {
  readonly folder?: string;
  readonly recipe?: Recipe;
  readonly weights?: Model;
} = {}): Promise<LintSubject> {
  const tokenizer = await Tokenizer.load(folder);
  const engine = await Engine.open(weights, { tokenizer });
  const chatTemplate = await ChatTemplate.load(folder);
  const { format, limits, sampling, reward } = recipe;
  return {
    parts: { engine, tokenizer, chatTemplate, search, format, limits, sampling },
    ...{ tokenizer, model: weights, reward },
    question: { id: "lint", question, answers: [] },
  };
}

/** A copy of the shipped folder with other JSON in one of its files. */
export async function changedFolder(
  file: string,
  change: (json: Record<string, unknown>) => Record<string, unknown>,
): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  folders.push(folder);
  await cp(checkpoint, folder, { recursive: true });
  const json = JSON.parse(await readFile(join(folder, file), "utf8")) as Record<string, unknown>;
  await writeFile(join(folder, file), JSON.stringify(change(json)));
  return folder;
}

/** What failed. */
export async function failuresOf(subject: LintSubject): Promise<Finding[]> {
  const { findings } = await lint(subject);
  return findings.filter(({ status }) => status === "fail");
}

/** Lints and holds that these checks fail and no others; each is named by words of it, with words of its evidence. */
export async function assertFails(
  subject: LintSubject,
  expected: readonly (readonly [check: RegExp, evidence: RegExp])[],
): Promise<void> {
  const failures = await failuresOf(subject);
  const seen = failures.map(({ check, evidence }) => `${check}: ${evidence}`).join("\n");
  assert.equal(failures.length, expected.length, seen);
  for (const [check, evidence] of expected) {
    const found = failures.find((each) => check.test(each.check));
    assert.ok(found, `${check} fails\n${seen}`);
    assert.match(found.evidence, evidence);
  }
}

/** What docs/train-from-traffic.md shows, in a folder of its own. */
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { projectRoot } from "../../project.ts";

export const page = readFileSync(join(projectRoot, "docs", "train-from-traffic.md"), "utf8");
export const [client = "", program = ""] = [...page.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(
  ([, code = ""]) => code,
);

export async function temporary(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Works in a folder until the test is over. */
export function workIn(t: TestContext, folder: string): void {
  const home = process.cwd();
  process.chdir(folder);
  t.after(() => process.chdir(home));
}

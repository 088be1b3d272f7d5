/** The package where its addon was never built: what needs no native code works, the rest says what to type. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
for (const part of ["dist/lib", "dist/apps", "package.json"])
  await cp(join(projectRoot, part), join(folder, part), { recursive: true });
await symlink(join(projectRoot, "node_modules"), join(folder, "node_modules"));

function run(code: string): string {
  const args = ["--input-type=module", "--eval", code];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8" });
}

test("without the addon, what needs no native code works", () => {
  const code = `
    import { SeekError } from "seekrl";
    import { readQuestions } from "seekrl/data";
    import { exactMatch } from "seekrl/rewards";
    console.log(typeof readQuestions, new SeekError("ERR_STATE", "x").code, exactMatch("Paris", ["paris"]));`;
  assert.equal(run(code), "function ERR_STATE 1\n");
});

test("without the addon, what needs native code names the command that builds it", () => {
  const code = `
    import { buildIndex } from "seekrl/search";
    const passages = [{ id: "1", title: "a", text: "b" }];
    await buildIndex({ corpus: passages, out: "index" }).catch(({ code, message }) => console.log(code, message));`;
  assert.match(run(code), /^ERR_STATE the native addon is not built: .* Remedy: npm rebuild seekrl\.\n$/);
});

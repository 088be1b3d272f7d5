/** The project that `seekrl init` writes compiles strictly, trains and answers. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { runCliIn } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-init-"));
after(() => rm(folder, { recursive: true }));

/** What `npm install` would put there, as links. */
async function install(project: string): Promise<void> {
  await mkdir(join(project, "node_modules"));
  await symlink(projectRoot, join(project, "node_modules", "seekrl"));
  await symlink(join(projectRoot, "node_modules", "@types"), join(project, "node_modules", "@types"));
}

test("the project compiles strictly, trains, answers, and its options file is one that train takes", async () => {
  const { code, stdout } = await runCliIn(folder, "init", "mine");
  assert.deepEqual([code, stdout], [0, "mine is a project. Next: cd mine && npm install && npm start\n"]);
  const project = join(folder, "mine");
  await install(project);
  const test = await readFile(join(project, "data", "test.jsonl"), "utf8");
  await writeFile(join(project, "data", "test.jsonl"), test.split("\n").slice(0, 20).join("\n"));
  const inside = { cwd: project, encoding: "utf8", env: { ...process.env, STEPS: "1" } } as const;
  execFileSync(join(projectRoot, "node_modules", ".bin", "tsc"), inside);
  const wrong = spawnSync(process.execPath, [join("dist", "agent.js")], {
    ...inside,
    env: { ...process.env, STEPS: "abc" },
  });
  assert.deepEqual(
    [wrong.status, wrong.stdout, wrong.stderr],
    [2, "", "STEPS: expected a whole number of at least 1, got abc\n"],
  );
  const said = execFileSync(process.execPath, [join("dist", "agent.js")], inside);
  const { question, answers } = JSON.parse(test.split("\n")[0] ?? "");
  assert.match(said, /^before: \d+\.\d % right, .*\nstep 1: reward 0\.\d+\nafter: \d+\.\d % right, /);
  // The sample question: what was said, what was found, the answer beside the right one.
  const sample = said.slice(said.indexOf("\nQuestion: "));
  assert.ok(sample.startsWith(`\nQuestion: ${question}\n`), said);
  assert.match(sample, /\n<(search|answer)> .* <\/\1>\n/);
  assert.match(sample, /\nanswer: .+, right is .+; searches: \d+\n$/);
  assert.ok(sample.includes(`, right is ${answers.join(" or ")}; searches`));
  assert.ok((await readdir(join(project, "model"))).includes("model.safetensors"));
  const planned = await runCliIn(project, "train", "--config", "train.yaml", "--dry-run");
  assert.equal(planned.code, 0, planned.stderr);
});

/** The project that `seekrl init` writes: it compiles strictly, trains, and is named as npm and the clone want it. */
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

const readJson = async (path: string) => JSON.parse(await readFile(path, "utf8"));

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

test("it asks for this package, and for the compiler that this package is compiled with", async () => {
  await runCliIn(folder, "init", "My Agent");
  const made = await readJson(join(folder, "My Agent", "package.json"));
  const { devDependencies } = await readJson(join(projectRoot, "package.json"));
  assert.equal(made.name, "my-agent");
  assert.match(made.dependencies.seekrl, /^file:/);
  for (const [name, version] of Object.entries(made.devDependencies))
    assert.equal(version, devDependencies[name], name);
  assert.deepEqual((await readdir(join(folder, "My Agent"))).sort(), [
    ...[".gitignore", "README.md", "data", "package.json", "src", "train.yaml", "tsconfig.json"],
  ]);
});

test("a folder that is there is taken where it has nothing but a repository", async () => {
  const there = join(folder, "cloned");
  await mkdir(join(there, ".git"), { recursive: true });
  const { code, stdout } = await runCliIn(there, "init", ".");
  assert.deepEqual([code, stdout], [0, ". is a project. Next: npm install && npm start\n"]);
  assert.deepEqual((await readdir(there)).sort(), [
    ...[".git", ".gitignore", "README.md", "data", "package.json", "src", "train.yaml", "tsconfig.json"],
  ]);
  assert.equal((await readJson(join(there, "package.json"))).name, "cloned");
});

test("a folder with anything else is refused, and stays as it is", async () => {
  await mkdir(join(folder, "there"));
  await writeFile(join(folder, "there", "notes.md"), "mine");
  for (const [name, found] of [
    ["there", "notes.md"],
    [join("there", "notes.md"), "a file"],
  ] as const) {
    const { code, stderr } = await runCliIn(folder, "init", name);
    assert.equal(code, 1);
    assert.ok(
      stderr.includes(
        `ERR_ARGUMENT: init: ${name}: expected a folder that is empty or not there yet, found ${found}. Remedy: another name\n`,
      ),
      stderr,
    );
  }
  assert.deepEqual(await readdir(join(folder, "there")), ["notes.md"]);
});

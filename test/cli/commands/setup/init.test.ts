/** The project that `seekrl init` writes: it compiles strictly, trains, and is named as npm and the clone want it. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { runCliIn } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-init-"));
after(() => rm(folder, { recursive: true }));

const readJson = async (path: string) => JSON.parse(await readFile(path, "utf8"));

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

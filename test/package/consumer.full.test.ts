/** The packed package in somebody's project: strict TypeScript, ES modules and CommonJS, compiled and run. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join, posix } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../project.ts";
import { builtLibtorch, plantBuild } from "./planted.ts";
import { entries } from "./surface.ts";

const project = await mkdtemp(join(tmpdir(), "seekrl-consumer-"));
after(() => rm(project, { recursive: true }));
const files = await install();

/** The tarball of a release, and this build as the package of the platform, unpacked as npm would. */
async function install(): Promise<string[]> {
  const pack = join(projectRoot, "scripts", "pack.mjs");
  execFileSync(process.execPath, [pack, "--out", project, "seekrl"], { stdio: "pipe" });
  const filename = (await readdir(project)).find((name) => name.endsWith(".tgz")) ?? "";
  const seekrl = join(project, "node_modules", "seekrl");
  await mkdir(seekrl, { recursive: true });
  const listed = execFileSync(
    "tar",
    ["-xvzf", join(project, filename), "-C", seekrl, "--strip-components=1"],
    {
      encoding: "utf8",
    },
  );
  await plantBuild(join(project, "node_modules"));
  const { dependencies, peerDependencies } = JSON.parse(
    await readFile(join(seekrl, "package.json"), "utf8"),
  ) as Record<"dependencies" | "peerDependencies", Record<string, string>>;
  for (const name of [...Object.keys({ ...dependencies, ...peerDependencies }), "@types/node"]) {
    const link = join(project, "node_modules", name);
    await mkdir(dirname(link), { recursive: true });
    await symlink(join(projectRoot, "node_modules", name), link);
  }
  return listed.split("\n").map((path) => path.replace("package/", ""));
}

/** `@ai-sdk/provider` names these types of a package that it does not bring along; users add `@types/json-schema`. */
const jsonSchema =
  'declare module "json-schema" { export type JSONSchema7 = object; export type JSONSchema7Definition = object; }';

/** The same program in both kinds of module. */
const program = (imports: string) => `${imports}
async function main(): Promise<void> {
  const { passages, questions }: World = createWorld({ seed: 0 });
  await buildIndex({ corpus: passages, out: process.argv[2] ?? "index" });
  const index: IndexSearch = await openIndex(process.argv[2] ?? "index");
  const [hits = []] = await index([questions.test[0]?.question ?? ""], { topK: 3 });
  index.close();
  const reward: number = exactMatch("the Louvre", ["Louvre"]);
  const refused = await Model.load("nowhere").catch((error: unknown) => error instanceof SeekError && error.code);
  console.log(JSON.stringify({ hits: hits.length, reward, refused, entries: all.map((entry) => Object.keys(entry).length > 0) }));
}
void main();
`;

const names = Object.keys(entries());
const all = `const all: object[] = [${names.map((_, i) => `entry${i}`).join(", ")}];`;

const modules = `
import { Model, SeekError } from "seekrl";
import { exactMatch } from "seekrl/rewards";
import { buildIndex, type IndexSearch, openIndex } from "seekrl/search";
import { createWorld, type World } from "seekrl/world";
${names.map((name, i) => `import * as entry${i} from "${name}";`).join("\n")}
${all}`;

const commonJs = `
${names.map((name, i) => `import entry${i} = require("${name}");`).join("\n")}
import seekrl = require("seekrl");
import rewards = require("seekrl/rewards");
import search = require("seekrl/search");
import world = require("seekrl/world");
type IndexSearch = search.IndexSearch;
type World = world.World;
const { Model, SeekError } = seekrl;
const { exactMatch } = rewards;
const { buildIndex, openIndex } = search;
const { createWorld } = world;
${all}`;

function run(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, {
    cwd: project,
    encoding: "utf8",
    env: { ...process.env, SEEKRL_LIBTORCH: builtLibtorch() },
  });
  assert.equal(status, 0, `${args}\n${stdout}${stderr}`);
  return stdout;
}

test("a strict project, of ES modules and CommonJS, compiles against the packed package", async () => {
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module" }));
  await writeFile(join(project, "main.ts"), program(modules));
  await writeFile(join(project, "common.cts"), program(commonJs));
  await writeFile(join(project, "json-schema.d.ts"), jsonSchema);
  const strict = {
    strict: true,
    noUncheckedIndexedAccess: true,
    exactOptionalPropertyTypes: true,
    skipLibCheck: false,
  };
  const compilerOptions = { ...strict, target: "es2023", module: "nodenext", types: ["node"] };
  await writeFile(
    join(project, "tsconfig.json"),
    JSON.stringify({ compilerOptions, files: ["json-schema.d.ts", "main.ts", "common.cts"] }),
  );
  run(join(projectRoot, "node_modules", "typescript", "bin", "tsc"), "-p", ".");
});

for (const [kind, file] of [
  ["ES modules", "main.js"],
  ["CommonJS", "common.cjs"],
] as const) {
  test(`the packed package searches and scores in a project of ${kind}`, () => {
    const expected = { hits: 3, reward: 1, refused: "ERR_IO", entries: names.map(() => true) };
    assert.deepEqual(JSON.parse(run(file, `index-${file}`)), expected);
  });
}

test("the tarball holds what is built and documented, no source and nothing that runs when it is installed", async () => {
  for (const needed of [
    "LICENSE",
    "NOTICE",
    "README.md",
    "bin/seekrl.mjs",
    "docs/cli.md",
    "dist/studio/index.html",
    "dist/studio/LICENSES.md",
  ])
    assert.ok(files.includes(needed), needed);
  const sources = files.filter((path) => /\.(ts|cpp|h)$/.test(path) && !path.endsWith(".d.ts"));
  // Those of the project that `seekrl init` writes are its own.
  assert.deepEqual(
    sources.filter((path) => !path.startsWith("starter/")),
    [],
  );
  const manifest = JSON.parse(
    await readFile(join(project, "node_modules", "seekrl", "package.json"), "utf8"),
  ) as Record<string, unknown>;
  const absent = ["scripts", "devDependencies", "gypfile", "private"].filter((key) => key in manifest);
  assert.deepEqual(absent, []);
});

test("every link of a page that is packed leads to a file that is packed", async () => {
  const pages = files.filter((path) => path.endsWith(".md") && !/^(?:dist|starter)\//.test(path));
  assert.ok(pages.includes("docs/start.md") && pages.includes("ARCHITECTURE.md"));
  const dead: string[] = [];
  for (const page of pages) {
    const text = await readFile(join(project, "node_modules", "seekrl", page), "utf8");
    for (const [, target = ""] of text.matchAll(/\]\((?!\w+:|#)([^)#]+)/g)) {
      const path = posix.join(posix.dirname(page), target);
      if (!files.some((file) => file === path || file.startsWith(`${path}/`)))
        dead.push(`${page}: ${target}`);
    }
  }
  assert.deepEqual(dead, []);
});

/** Has the installed package write a project beside the one that asks for it; what that asks for in turn. */
async function askedByNew(name: string): Promise<object> {
  const dependencies = { seekrl: "file:packed/seekrl.tgz", "@seekrl/linux-x64": "^1.2.3", other: "^1.0.0" };
  await writeFile(join(project, "package.json"), JSON.stringify({ type: "module", dependencies }));
  const program = join(project, "node_modules", "seekrl", "bin", "seekrl.mjs");
  execFileSync(process.execPath, [program, "init", name], { cwd: project });
  const made = JSON.parse(await readFile(join(project, name, "package.json"), "utf8")) as {
    dependencies: object;
  };
  return made.dependencies;
}

const asked = { seekrl: "file:../packed/seekrl.tgz", "@seekrl/linux-x64": "^1.2.3" };

test("a project that the installed package writes asks for it where this project found it", async () => {
  assert.deepEqual(await askedByNew("mine"), asked);
});

test("so does one of a package that stands in pnpm's store", async () => {
  const installed = join(project, "node_modules", "seekrl");
  const stored = join(project, "node_modules", ".pnpm", "seekrl@file+packed", "node_modules", "seekrl");
  await mkdir(dirname(stored), { recursive: true });
  await rename(installed, stored);
  await symlink(stored, installed);
  assert.deepEqual(await askedByNew("stored"), asked);
});

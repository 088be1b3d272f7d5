/** What is built is older than its sources: an addon is one error when it loads, and neither it nor JavaScript is packed so. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import {
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { requireExports } from "../../../lib/base/addon/exports.ts";
import { native } from "../../../lib/base/addon/native.ts";
import { importScript, projectRoot } from "../../project.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-stale-"));
after(() => rm(scratch, { recursive: true }));
const release = join("build", "cmake", "Release");

/** A clone whose addon is a library of Node's that has none of the functions. */
async function staleClone(): Promise<string> {
  const root = join(scratch, "clone");
  await cp(join(projectRoot, "dist"), join(root, "dist"), {
    recursive: true,
    filter: (path) => !path.includes(join("dist", "test")),
  });
  await cp(join(projectRoot, "bin"), join(root, "bin"), { recursive: true });
  await cp(join(projectRoot, "scripts"), join(root, "scripts"), { recursive: true });
  await symlink(join(projectRoot, "node_modules"), join(root, "node_modules"));
  for (const file of ["package.json", "tsconfig.json"])
    await copyFile(join(projectRoot, file), join(root, file));
  await mkdir(join(root, release), { recursive: true });
  await copyFile(join(projectRoot, "build", "libtorch.json"), join(root, "build", "libtorch.json"));
  for (const name of ["seekrl.node", "seekrl_preload.node"])
    await copyFile(join(projectRoot, release, "seekrl_preload.node"), join(root, release, name));
  return root;
}

test("what a call, the command line and the doctor say of a stale addon names it and the command that mends it", async () => {
  const root = await staleClone();
  const said = new RegExp(
    `the native addon ${join(root, release, "seekrl.node")} was built from other sources than this JavaScript: it lacks ` +
      "torchVersion, instructionSet, setNumThreads and \\d+ more\\. Remedy: npm run build\\.",
  );
  const run = (...args: string[]) =>
    promisify(execFile)(process.execPath, args, { cwd: projectRoot }).catch((error) => error);
  const search = pathToFileURL(join(root, "dist", "lib", "base", "addon", "native.js")).href;
  const code = `const { native } = await import("${search}");
    for (const _ of [1, 2]) try { native(); } catch ({ name, code, message }) { console.log(name, code, message); }`;
  const { stdout } = await run("--input-type=module", "-e", code);
  const lines = stdout.trimEnd().split("\n");
  assert.equal(lines.length, 2);
  for (const line of lines) assert.match(line, new RegExp(`^SeekError ERR_STATE ${said.source}$`));
  const cli = join(root, "bin", "seekrl.mjs");
  const corpus = join(root, "corpus.jsonl");
  await writeFile(corpus, '{"id":"1","contents":"A museum in Paris."}\n');
  const { code: exit, stderr } = await run(
    cli,
    "index",
    "build",
    "--corpus",
    corpus,
    "--out",
    join(root, "index"),
  );
  assert.equal(exit, 1);
  assert.match(stderr, new RegExp(`^ERR_STATE: ${said.source}\n$`));
  assert.match((await run(cli, "doctor")).stdout, new RegExp(`^cpu {7}${said.source}$`, "m"));
});

test("an addon that lacks one method of one class is stale", () => {
  const older = { ...native(), TrainerHandle: class {} };
  assert.throws(() => requireExports(older, "/clone/seekrl.node"), {
    code: "ERR_STATE",
    message:
      /seekrl\.node was built from other sources .* TrainerHandle\.accumulate, .*Remedy: npm run build/,
  });
  requireExports(native(), "/clone/seekrl.node");
});

const { bringUpToDate } = (await importScript("scripts/pack/fresh.mjs")) as {
  bringUpToDate(root: string, files: string[]): Promise<void>;
};

/** A build whose addon is a copy of its source. */
const cmakeLists = `
cmake_minimum_required(VERSION 3.22)
project(copies NONE)
add_custom_command(OUTPUT addon.node DEPENDS \${CMAKE_SOURCE_DIR}/source.txt
  COMMAND \${CMAKE_COMMAND} -E copy \${CMAKE_SOURCE_DIR}/source.txt addon.node)
add_custom_target(seekrl DEPENDS addon.node)
`;

test("an addon that is older than its sources is built before it is packed, or not packed", async () => {
  const root = join(scratch, "sources");
  const files = ["seekrl.node"];
  await mkdir(root);
  await assert.rejects(bringUpToDate(root, files), /nothing is built there\. Remedy: npm run build/);
  await writeFile(join(root, "CMakeLists.txt"), cmakeLists);
  await writeFile(join(root, "source.txt"), "first");
  const build = join(root, "build", "cmake");
  await promisify(execFile)("cmake", ["-S", root, "-B", build]);
  await bringUpToDate(root, files);
  await writeFile(join(root, "source.txt"), "second");
  await utimes(join(build, "addon.node"), 1, 1);
  await bringUpToDate(root, files);
  assert.equal(await readFile(join(build, "addon.node"), "utf8"), "second");
  await rm(join(root, "source.txt"));
  await assert.rejects(
    bringUpToDate(root, files),
    /older than their sources, which do not build:[\s\S]*Remedy/,
  );
});

/** A checkout of one module beside the index, with a page that needs no building. */
async function smallCheckout(): Promise<string> {
  const root = join(scratch, "small");
  await cp(join(projectRoot, "scripts"), join(root, "scripts"), { recursive: true });
  await symlink(join(projectRoot, "node_modules"), join(root, "node_modules"));
  for (const folder of ["lib", "web", "apps/studio/api", "dist/studio"])
    await mkdir(join(root, folder), { recursive: true });
  const compilerOptions = {
    ...{ rootDir: ".", outDir: "dist", incremental: true, tsBuildInfoFile: "dist/.tsbuildinfo" },
    ...{ module: "nodenext", types: [], skipLibCheck: true },
  };
  const manifest = { name: "seekrl", version: "0.1.0", type: "module", files: ["dist/lib", "dist/studio"] };
  const texts = {
    "package.json": JSON.stringify(manifest),
    "tsconfig.json": JSON.stringify({ compilerOptions, include: ["lib"] }),
    "lib/index.ts": 'export * from "./before.js";',
    "lib/before.ts": "export const answer = 42;",
  };
  for (const [file, text] of Object.entries(texts)) await writeFile(join(root, file), text);
  for (const file of ["CHANGELOG.md", "LICENSE", "README.md", "package-lock.json", "apps/studio/api.ts"])
    await writeFile(join(root, file), "");
  await writeFile(join(root, "dist/studio/index.html"), "");
  for (const file of ["package-lock.json", "apps/studio/api.ts"]) await utimes(join(root, file), 1, 1);
  return root;
}

test("a module that has moved since the last compilation is packed where it stands; what does not compile is not packed", async () => {
  const root = await smallCheckout();
  const out = join(root, "out");
  const pack = () =>
    promisify(execFile)(process.execPath, [join(root, "scripts/pack.mjs"), "--out", out, "seekrl"]);
  const modules = async () => {
    const { stdout } = await promisify(execFile)("tar", ["-tzf", join(out, "seekrl-0.1.0.tgz")]);
    return [...stdout.matchAll(/dist\/lib\/(.*)/g)].map(([, name]) => name).sort();
  };
  await pack();
  assert.deepEqual(await modules(), ["before.js", "index.js"]);
  await rename(join(root, "lib/before.ts"), join(root, "lib/after.ts"));
  await writeFile(join(root, "lib/index.ts"), 'export * from "./after.js";');
  const { stderr } = await pack();
  assert.deepEqual(await modules(), ["after.js", "index.js"]);
  assert.ok(stderr.endsWith(`in your project: npm install ${out}/*.tgz && npx seekrl doctor\n`), stderr);
  await writeFile(join(root, "lib/index.ts"), 'export * from "./before.js";');
  await assert.rejects(pack(), /the TypeScript does not compile/);
});

/** What a release may ask of a system: symbols of glibc 2.28 and g++ 8 at the latest, a processor without extensions. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "../project.ts";
import { builtLibtorch } from "./planted.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-baseline-"));
after(() => rm(scratch, { recursive: true }));

const { youngerSymbols } = (await importScript("scripts/pack/baseline.mjs")) as {
  youngerSymbols(paths: readonly string[], neighbours?: readonly string[]): Promise<string[]>;
};

const compiler = spawnSync("g++", ["-dumpversion"], { encoding: "utf8" }).stdout?.trim();
const isLinux = process.platform === "linux" && existsSync("/lib64/ld-linux-x86-64.so.2");
const skip = !isLinux
  ? "packages of Linux are made on Linux"
  : compiler?.split(".")[0] !== "12" && `releases are linked by g++ 12, here is ${compiler ?? "none"}`;

test("the addons, and the kernels for GPUs where they are built, need no younger symbol", {
  skip,
}, async () => {
  const release = join(projectRoot, "build", "cmake", "Release");
  const files = ["seekrl.node", "seekrl_preload.node", "libseekrl_cuda.so", "libseekrl_graphs.so"].map(
    (name) => join(release, name),
  );
  const neighbours = ["libc10.so", "libtorch_cpu.so"].map((name) => join(builtLibtorch(), "lib", name));
  assert.deepEqual(
    await youngerSymbols(
      files.filter((path) => existsSync(path)),
      neighbours,
    ),
    [],
  );
});

test("a library that needs a younger symbol, or one that nobody has, is found out", { skip }, async () => {
  const library = join(scratch, "library.so");
  const source = `
    #include <sys/single_threaded.h>
    int nobody(void);
    int call(void) { return __libc_single_threaded + nobody(); }`;
  execFileSync("gcc", ["-shared", "-fPIC", "-x", "c", "-", "-o", library], { input: source });
  const found = await youngerSymbols([library]);
  assert.deepEqual(found.sort(), ["__libc_single_threaded@GLIBC_2.32 (library.so)", "nobody (library.so)"]);
});

/** Names of functions that a linker merges with those of the same name in other object files. */
function mergedFunctions(object: string): string[] {
  const lines = execFileSync("nm", ["--defined-only", object], { encoding: "utf8" }).split("\n");
  return lines.flatMap((line) => / W (\S+)$/.exec(line)?.[1] ?? []);
}

// A copy with instructions that a processor lacks may be the one that the linker keeps, for everybody.
test("no function that others have too is compiled for a processor with extensions", { skip }, () => {
  const folder = join(projectRoot, "build", "cmake", "CMakeFiles");
  const objects = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((name) =>
    /^seekrl_(?:kernels|search)\.dir\/.*(?:avx|amx)[^/]*\.o$/.test(name),
  );
  assert.ok(objects.length >= 6, `${objects}`);
  const names = objects.flatMap((object) => mergedFunctions(join(folder, object)));
  assert.deepEqual(
    names.filter((name, i) => !/avx|Amx/.test(name) || names.indexOf(name) !== i),
    [],
  );
});

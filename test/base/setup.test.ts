/** The set-up of a clone: what npx may run in one that is not set up, and what a build shows while it runs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { importScript, projectRoot } from "../project.ts";

interface Progress {
  finish(part: string): void;
  feed(chunk: string): void;
  left(): number | undefined;
}

type ProgressClass = new (options: {
  readonly isFirst: boolean;
  readonly jobs: number;
  readonly now: () => number;
}) => Progress;

const { Progress } = (await importScript("scripts/setup/progress.mjs")) as { Progress: ProgressClass };
const { parallelSeconds, partOf, serialSeconds } = (await importScript("scripts/setup/work.mjs")) as {
  parallelSeconds: Readonly<Record<string, number>>;
  serialSeconds: Readonly<Record<string, number>>;
  partOf(line: string): string | undefined;
};

const { isConfiguredDifferently } = (await importScript("scripts/setup/native.mjs")) as {
  isConfiguredDifferently(folder: string, definitions: Readonly<Record<string, string>>): boolean;
};

/**
 * Plays a first set-up on a machine that is so many times as slow, two parts at once, those named `early` while libtorch is
 * waited for; gives the estimates in the middle of it.
 */
function estimates(
  slowness: number,
  early: readonly string[] = [],
): { readonly at: number; readonly left: number }[] {
  let seconds = 0;
  const progress = new Progress({ isFirst: true, jobs: 2, now: () => seconds * 1000 });
  const seen: { at: number; left: number }[] = [];
  const look = (): unknown => seen.push({ at: seconds, left: (progress.left() ?? 0) / 1000 });
  look();
  for (const [part, each] of Object.entries(serialSeconds)) {
    seconds += each;
    if (part === "libtorch") for (const each of early) progress.finish(each);
    progress.finish(part);
    look();
  }
  const cores = [seconds, seconds];
  const after = Object.entries(parallelSeconds).filter(([part]) => !early.includes(part));
  const ends = after.map(([part, each]) => {
    const core = (cores[0] as number) <= (cores[1] as number) ? 0 : 1;
    const end = (cores[core] as number) + each * slowness;
    cores[core] = end;
    return { part, end };
  });
  for (const { part, end } of ends.sort((a, b) => a.end - b.end)) {
    seconds = end;
    progress.finish(part);
    look();
  }
  return seen;
}

test("npx does nothing in a clone that is not set up, so that its cache stays whole; npm is told what is missing", async () => {
  const clone = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    await cp(join(projectRoot, "scripts"), join(clone, "scripts"), { recursive: true });
    await cp(join(projectRoot, "package.json"), join(clone, "package.json"));
    const run = (event: string, script: string, command: string) =>
      spawnSync(process.execPath, [join(clone, "scripts", script)], {
        encoding: "utf8",
        env: { PATH: "", npm_command: command, npm_lifecycle_event: event },
      });
    const quiet = run("install", "setup/install.mjs", "exec");
    assert.deepEqual([quiet.status, quiet.stdout, quiet.stderr], [0, "", ""]);
    const { status, stderr } = run("install", "setup/install.mjs", "ci");
    assert.equal(status, 1);
    assert.match(stderr, /no C\+\+ compiler was found. Remedy/);
    // The command that npx then runs is no lifecycle script: it does set up.
    assert.equal(run("npx", "setup/install.mjs", "exec").status, 1);
  } finally {
    await rm(clone, { recursive: true });
  }
});

test("a first set-up says from its start how long it takes, within a third, and on machines of other speeds once it has begun", () => {
  const early = ["typescript", "page"];
  const plays = [1, 0.8, 1.3, 2].map((slowness) => ({ slowness, seen: estimates(slowness) }));
  for (const { slowness, seen } of [...plays, { slowness: 1, seen: estimates(1, early) }]) {
    const end = seen.at(-1)?.at ?? 0;
    assert.equal(seen.at(-1)?.left, 0);
    const isSoonRight = slowness > 0.75 && slowness < 4 / 3;
    for (const { at, left } of seen.filter(({ at }) => isSoonRight || (at > end / 3 && at < 0.8 * end)))
      assert.ok(
        Math.abs(left - (end - at)) <= (end - at) / 3 + 3,
        `x${slowness} at ${at} s: said ${left} s, took ${end - at} s`,
      );
  }
});

test("lines of ninja and make name the parts that the estimate knows", () => {
  const line = (path: string): string => `[3/27] Building CXX object CMakeFiles/seekrl_core.dir/${path}.o`;
  assert.equal(partOf(line("Unity/unity_ops_cxx.cxx")), "ops");
  assert.equal(partOf(line("native/kernels/cpu/avx512_bf16.cpp")), "avx512_bf16");
  assert.equal(partOf(line("native/search/vectors/dots/pair_products.c")), "pair_products");
  assert.equal(partOf("[ 96%] Linking CXX shared library Release/seekrl.node"), "seekrl.node");
});

test("make tells of a part when it begins: what was begun as many parts before as there are cores is done", () => {
  let seconds = 0;
  const progress = new Progress({ isFirst: true, jobs: 2, now: () => seconds * 1000 });
  for (const part of ["typescript", "page", "libtorch", "configuring"]) progress.finish(part);
  const whole = progress.left() as number;
  const begins = (unit: string): void => {
    progress.feed(`[  9%] Building CXX object CMakeFiles/seekrl_core.dir/Unity/unity_${unit}_cxx.cxx.o\n`);
  };
  for (const unit of ["node", "ops"]) begins(unit);
  assert.equal(progress.left(), whole);
  seconds = parallelSeconds.node as number;
  progress.feed("[ 30%] Built target seekrl_kernels\n");
  begins("model");
  assert.ok(Math.abs((progress.left() as number) - (whole - seconds * 1000)) < 1);
});

test("a later build counts steps and tells no time", () => {
  const progress = new Progress({ isFirst: false, jobs: 2, now: () => 0 });
  progress.feed("[1/3] Buil");
  progress.feed("ding CXX object a\n");
  assert.equal(progress.left(), undefined);
});

test("of a build that fails its errors are shown, or how it ended", async () => {
  const { errorLines } = (await importScript("scripts/setup/build.mjs")) as {
    errorLines(text: string, most: number): string;
  };
  const errors = ["a.cpp:1: error: no", "b.cpp:2: Error 1", "c.cpp:3: error: no"];
  assert.equal(
    errorLines(`[1/2] a\n${errors.join("\n... \n")}\nstopped\n`, 2),
    errors.slice(0, 2).join("\n"),
  );
  assert.equal(errorLines("[1/2] a\n[2/2] b\nkilled\n", 2), "[2/2] b\nkilled");
});

test("a build folder that was configured for less is configured anew, one that was not yet is left to the build", async () => {
  const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
  try {
    assert.equal(isConfiguredDifferently(folder, { SEEKRL_TESTS: "ON" }), false);
    const cache = "// Build the tests\nSEEKRL_TESTS:BOOL=OFF\n\nSEEKRL_LIBTORCH:UNINITIALIZED=/lib=torch\n";
    await writeFile(join(folder, "CMakeCache.txt"), cache);
    const same = { SEEKRL_TESTS: "OFF", SEEKRL_LIBTORCH: "/lib=torch" };
    assert.equal(
      isConfiguredDifferently(folder, same),
      true,
      "configuring failed: there is nothing to build by",
    );
    await writeFile(join(folder, "build.ninja"), "");
    assert.equal(isConfiguredDifferently(folder, same), false);
    assert.equal(isConfiguredDifferently(folder, { ...same, SEEKRL_TESTS: "ON" }), true);
    assert.equal(isConfiguredDifferently(folder, { ...same, SEEKRL_UNITS: "OFF" }), true);
  } finally {
    await rm(folder, { recursive: true });
  }
});

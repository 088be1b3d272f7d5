/** The set-up of a clone: what npx may run in one that is not set up, and what a build shows while it runs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { importScript, projectRoot } from "../project.ts";

interface Progress {
  feed(chunk: string): void;
  tick(): void;
  end(): void;
}

type ProgressClass = new (options: {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly now: () => number;
}) => Progress;

const { BuildProgress } = (await importScript("scripts/setup/build-progress.mjs")) as {
  BuildProgress: ProgressClass;
};

/** What is written while a build prints one piece of output a second. */
function shown(pieces: readonly string[], isTerminal: boolean): string[] {
  const written: string[] = [];
  let seconds = 0;
  const now = (): number => seconds * 1000;
  const progress = new BuildProgress({ write: (text) => written.push(text), isTerminal, now });
  for (const piece of pieces) {
    seconds += 1;
    progress.feed(piece);
    if (piece === "") progress.tick();
  }
  progress.end();
  return written;
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
    for (const [event, script, missing] of [
      ["prepare", "prepare.mjs", /TypeScript is not installed. Remedy: npm ci/],
      ["install", "setup/install.mjs", /no C\+\+ compiler was found. Remedy/],
    ] as const) {
      const quiet = run(event, script, "exec");
      assert.deepEqual([quiet.status, quiet.stdout, quiet.stderr], [0, "", ""]);
      const { status, stderr } = run(event, script, "ci");
      assert.equal(status, 1);
      assert.match(stderr, missing);
    }
    // The command that npx then runs is no lifecycle script: it does set up.
    assert.equal(run("npx", "setup/install.mjs", "exec").status, 1);
  } finally {
    await rm(clone, { recursive: true });
  }
});

test("a build shows its steps and the time left: one line that moves on a terminal, one now and then in a log", () => {
  const steps = Array.from({ length: 40 }, (_, i) => `[${i + 1}/40] Building CXX object\nwarning\n`);
  const line = (text: string): string => `seekrl: building the native addons: ${text}\n`;
  assert.deepEqual(shown(steps, false), [
    line("10 of 40 steps, 10 s so far, about 30 s left"),
    line("20 of 40 steps, 20 s so far, about 20 s left"),
    line("30 of 40 steps, 30 s so far, about 10 s left"),
    line("40 of 40 steps, 40 s so far"),
  ]);
  const terminal = shown(["[1/3] Buil", "ding a\n[ 2/3] Building b\n", "[3/3] Linking\n"], true);
  assert.equal(terminal.length, 4);
  assert.ok(terminal.every((text) => text.startsWith("\r") && !text.includes("\n")));
  assert.match(terminal[1] ?? "", /2 of 3 steps, 2 s so far, about 1 s left/);
  assert.match(terminal[3] ?? "", /^\r *\r$/);
  assert.match(shown(["[ 50%] Building\n"], true)[0] ?? "", /50 %, 1 s so far, about 1 s left/);
});

test("a build says nothing of what is left before a tenth is done, and then reckons with the slower steps", () => {
  // The first of 100 takes half a minute, the next 39 come at once out of a cache, then each takes 5 s.
  const quiet = Array.from({ length: 29 }, () => "");
  const cached = Array.from({ length: 40 }, (_, i) => `[${i + 1}/100] Building CXX object\n`);
  const slow = Array.from({ length: 24 }, (_, i) => [
    "",
    "",
    "",
    "",
    `[${i + 41}/100] Building CXX object\n`,
  ]);
  const log = shown([...quiet, cached[0]!, cached.slice(1).join(""), ...slow.flat()], false);
  assert.deepEqual(
    log.slice(0, 3).map((text) => text.replace(/.*addons: /, "")),
    [
      "looking at what there is, 10 s so far\n",
      "looking at what there is, 20 s so far\n",
      "1 of 100 steps, 30 s so far\n",
    ],
  );
  // 37 are left, 5 s each: 185 s. All so far would say 146 / 63 s each, 86 s in all.
  assert.match(log.at(-1) ?? "", /63 of 100 steps, 2 min so far, about 4 min left/);
});

test("a step that takes long says so until it is done", async () => {
  const { step } = (await importScript("scripts/setup/report.mjs")) as {
    step(name: string, run: () => Promise<void>, options: object): Promise<void>;
  };
  const written: string[] = [];
  const { write } = process.stderr;
  await new Promise<void>((resolve, reject) => {
    const isLong = new Promise<void>((done) => {
      process.stderr.write = (text) => {
        written.push(String(text));
        done();
        return true;
      };
    });
    step("compiled it", () => isLong, { doing: "compiling it", everyMs: 1 }).then(resolve, reject);
  }).finally(() => {
    process.stderr.write = write;
  });
  assert.match(written[0] ?? "", /^seekrl: compiling it: \d+ s so far\n$/);
  assert.match(written.at(-1) ?? "", /^seekrl: compiled it \(\d+\.\d s\)\n$/);
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

test("a build that compiles nothing shows nothing", () => {
  assert.deepEqual(shown(["-- Configuring done\n", "ninja: no work to do.\n"], true), []);
});

/** The set-up of a clone: what npx may run in one that is not set up, and what a build shows while it runs. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { projectRoot } from "../project.ts";

interface Progress {
  feed(chunk: string): void;
  end(): void;
}

type ProgressClass = new (options: {
  readonly write: (text: string) => void;
  readonly isTerminal: boolean;
  readonly now: () => number;
}) => Progress;

const module = pathToFileURL(join(projectRoot, "scripts", "setup", "build-progress.mjs")).href;
const { BuildProgress } = (await import(module)) as { BuildProgress: ProgressClass };

/** What is written while a build prints one piece of output a second. */
function shown(pieces: readonly string[], isTerminal: boolean): string[] {
  const written: string[] = [];
  let seconds = 0;
  const now = (): number => seconds * 1000;
  const progress = new BuildProgress({ write: (text) => written.push(text), isTerminal, now });
  for (const piece of pieces) {
    seconds += 1;
    progress.feed(piece);
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
  const log = shown(steps, false);
  assert.deepEqual(log, [
    "seekrl: building the native addons: 15 of 40 steps, about 25 s left\n",
    "seekrl: building the native addons: 30 of 40 steps, about 10 s left\n",
  ]);
  const terminal = shown(["[1/3] Buil", "ding a\n[ 2/3] Building b\n", "[3/3] Linking\n"], true);
  assert.equal(terminal.length, 4);
  assert.ok(terminal.every((text) => text.startsWith("\r") && !text.includes("\n")));
  assert.match(terminal[1] ?? "", /2 of 3 steps, about 1 s left/);
  assert.match(terminal[3] ?? "", /^\r *\r$/);
  assert.match(shown(["[ 50%] Building\n"], true)[0] ?? "", /50 %, about 1 s left/);
});

test("a build that compiles nothing shows nothing", () => {
  assert.deepEqual(shown(["-- Configuring done\n", "ninja: no work to do.\n"], true), []);
});

/** `bench/gpu/run.sh` and its parts, as far as they need neither a GPU nor a compiler. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "./project.ts";

const home = mkdtempSync(join(tmpdir(), "seekrl-gpu-bench-"));
after(() => rmSync(home, { recursive: true }));

const run = (...args: string[]) =>
  spawnSync("bash", [join(projectRoot, "bench", "gpu", "run.sh"), ...args], { encoding: "utf8" });

/** What a script prints that has the functions of run.sh's parts. */
function inParts(
  script: string,
  env: Readonly<Record<string, string>> = {},
): { status: number | null; stdout: string } {
  const whole = `set -euo pipefail\n. bench/gpu/parts.sh\n. bench/gpu/machine.sh\n${script}`;
  const own = {
    build: home,
    out: home,
    dry: "no",
    only: "",
    carried: join(home, "carried"),
    archive: join(home, "carry", "run.tar.xz"),
  };
  const { status, stdout, stderr } = spawnSync("bash", ["-c", whole], {
    cwd: projectRoot,
    encoding: "utf8",
    env: { ...process.env, ...own, ...env },
  });
  return { status, stdout: `${stdout}${stderr}` };
}

/** Of a process; nothing where it has ended. */
function commandOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}

/** A program of a few lines of shell, below the home folder. */
function program(path: string, text: string): string {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `#!/bin/sh\n${text}\n`);
  chmodSync(file, 0o755);
  return file;
}

test("bench/gpu/run.sh says how it is called, and what is wrong with a call", () => {
  const help = run("--help");
  assert.deepEqual([help.status, help.stderr], [0, ""]);
  assert.match(help.stdout, /^Checks and measures .*\[--dry\]$/m);
  assert.doesNotMatch(help.stdout, /set -euo|#/);
  for (const [args, message] of [
    [["--only"], /^--only: expected a text that a case's name holds, got nothing$/m],
    [["--stage", "both"], /^--stage: expected kernels or program, got both$/m],
    [["--quick"], /^--quick: unknown; there are --dry, --stage, --only TEXT and --help$/m],
  ] as const) {
    const { status, stdout, stderr } = run(...args);
    assert.deepEqual([status, stdout], [2, ""]);
    assert.match(stderr, message);
  }
});

test("a part that fails or takes too long is told, and nothing of it goes on", () => {
  const mark = `orphan-${process.pid}`;
  const script = `begin_stage 100; stage_bad=
    slow() { timeout 300 sh -c 'sleep 300; : ${mark}' & sleep 300; }
    broken() { echo half; false; echo never; }
    export -f slow broken
    in_session 1 slow || echo "slow: ended with $?"
    part broken 1 9 broken
    begin_stage 3
    part none 1 9 true
    end_stage kernels || echo "ended with $?"`;
  const { status, stdout } = inParts(script);
  assert.equal(status, 0, stdout);
  assert.match(stdout, /^slow: ended with 124$/m);
  assert.match(stdout, /^broken: failed \(1\)$/m);
  assert.doesNotMatch(stdout, /never/);
  assert.match(stdout, /^none: skipped, the stage has no time left$/m);
  assert.match(stdout, /^Verdict: NOT well: broken none\.\nended with 1$/m);
  assert.equal(readFileSync(join(home, "broken.txt"), "utf8"), "half\n");
  const left = readdirSync("/proc").filter((pid) => /^\d+$/.test(pid) && commandOf(pid).includes(mark));
  assert.deepEqual(left, []);
});

test("what runs beside other parts is joined with its output and its end", () => {
  const { stdout } =
    inParts(`begin build 20 sh -c 'echo compiling; echo failed >&2; exit 3'; begin doctor 20 echo well
    joined build || echo "ended with $?"; joined doctor`);
  assert.match(stdout, /^compiling\nfailed\nended with 3\nwell$/m);
});

test("a case is ok, wrong, ended or killed; a tool's silence is no good news", () => {
  const lines = inParts(`told a 0 20 $'ok - a, out: 0\\nnoise'
    told b 1 20 $'ok - b, x: 0\\nnot ok - b, out: 1 of 0'
    told c 139 20 'Segmentation fault'
    told d 137 20 ''
    told_by_tool e 0 60 $'========= ERROR SUMMARY: 0 errors'
    told_by_tool f 0 60 $'========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)'
    told_by_tool g 1 60 $'noise\\n========= Invalid __global__ read of size 16 bytes\\n=========     at kernel+0x10'
    told_by_tool h 137 60 ''
    told_by_tool i 0 60 'killed by its sandbox'`).stdout.split("\n");
  assert.deepEqual(
    lines.filter((line) => /^(not )?(ok|finished)/.test(line)).map((line) => line.replace(/:.*/, "")),
    [
      "ok - a, out",
      "not ok - b, out",
      "not ok - c",
      "not ok - d",
      "ok - e",
      "not ok - f",
      "not ok - g",
      "not finished - h",
      "not ok - i",
    ],
  );
  assert.ok(lines.includes("=========     at kernel+0x10"));
  assert.match(readFileSync(join(home, "sanitizer.txt"), "utf8"), /^## g\nnoise\n/m);
});

test("compute-sanitizer that does not run here is said; findings of it fail", () => {
  const bench = program("bench", 'case $1 in --list) echo one; echo two ;; *) echo "ok - $4" ;; esac');
  const sanitizer = (text: string): string => dirname(program("tools/compute-sanitizer", text));
  const under = (text: string) =>
    inParts("sanitized memcheck", {
      bench,
      fixtures: home,
      PATH: `${sanitizer(text)}:${process.env["PATH"]}`,
    });
  assert.match(under("echo '========= Error: Device not supported'; exit 1").stdout, /is left out\.$/m);
  const good = under('shift 4; "$@" && echo "========= ERROR SUMMARY: 0 errors"');
  assert.deepEqual([good.status, good.stdout.includes("2 ok, 0 not, 0 not finished.")], [0, true]);
  const bad = under('echo "========= Invalid read"; exit 1');
  assert.deepEqual([bad.status, bad.stdout.includes("0 ok, 2 not, 0 not finished.")], [1, true]);
});

test("a torch for GPUs is found in an environment that is not active; without one the run ends at once", () => {
  const folder = join(home, "site", "torch");
  mkdirSync(join(folder, "lib"), { recursive: true });
  const found = program("own/bin/python3", `echo ${folder}`);
  program("none/python3", "echo");
  const env = { HOME: home, PATH: `${join(home, "none")}:${process.env["PATH"]}`, SEEKRL_LIBTORCH: "" };
  const { status, stdout } = inParts(
    'use_torch && echo "$SEEKRL_LIBTORCH $(dirname "$(command -v python3)")"',
    env,
  );
  assert.deepEqual([status, stdout], [0, `torch: ${folder}\n${folder} ${dirname(found)}\n`]);
  rmSync(join(home, "own"), { recursive: true });
  const without = inParts("torch_of() { :; }; use_torch", env);
  assert.equal(without.status, 1);
  assert.match(without.stdout, /No Python here has a torch for GPUs\. Remedy: /);
});

test("an archive of other sources is refused; one that has changed, or was cut off, is unpacked again", () => {
  const carry = join(home, "carry");
  mkdirSync(carry);
  const digest = "digest() { :; }; bash() { echo sources; }"; // in place of bench/gpu/digest.sh
  const pack = (text: string): void => {
    writeFileSync(join(home, "content"), text);
    assert.equal(spawnSync("tar", ["-cJf", join(carry, "run.tar.xz"), "-C", home, "content"]).status, 0);
  };
  const use = () => inParts(`${digest}\ncd ${home}/checkout; use_archive && cat content`);
  mkdirSync(join(home, "checkout"));
  writeFileSync(join(carry, "commit"), "abc\n");
  writeFileSync(join(carry, "digest"), "others\n");
  pack("first");
  const refused = use();
  assert.equal(refused.status, 1);
  assert.match(
    refused.stdout,
    /expected one of these sources, got one of commit abc\. Remedy: node bench\/gpu\/pack\.mjs/,
  );
  writeFileSync(join(carry, "digest"), "sources\n");
  assert.deepEqual(use(), { status: 0, stdout: "first" });
  writeFileSync(join(home, "checkout", "content"), "mine");
  assert.deepEqual(use(), { status: 0, stdout: "mine" });
  pack("second");
  assert.deepEqual(use(), { status: 0, stdout: "second" });
  // Where tar knows no xz, Python does.
  pack("third");
  const python = inParts(`${digest}\ntar() { return 2; }\ncd ${home}/checkout; use_archive && cat content`);
  assert.deepEqual(python, { status: 0, stdout: "third" });
});

test("answers are alike within bf16's rounding, and words are the same", () => {
  const alike = (a: unknown, b: unknown): string => {
    const files = [a, b].map((value, i) => {
      const file = join(home, `${i}.json`);
      writeFileSync(file, JSON.stringify(value));
      return file;
    });
    return spawnSync(process.execPath, [join(projectRoot, "dist", "bench", "gpu", "alike.js"), ...files], {
      encoding: "utf8",
    }).stdout;
  };
  assert.match(
    alike({ text: "a", logprobs: [null, -15.38] }, { text: "a", logprobs: [null, -15.36] }),
    /^ok/,
  );
  assert.match(
    alike({ logprobs: [-1.5] }, { logprobs: [-1.7] }),
    /^not ok .*\.logprobs\.0: -1\.5 and -1\.7$/m,
  );
  assert.match(alike({ text: "a" }, { text: "b" }), /^not ok .*\.text: "a" and "b"$/m);
  assert.match(alike([1, 2], [1]), /^not ok .*2 and 1 entries$/m);
});

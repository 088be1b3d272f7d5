/** Processes of a launch: real ones that run small scripts; what is shown, kept, ended and started again. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { UsageError } from "../../../../apps/cli/command.ts";
import { runJob } from "../../../../apps/cli/commands/launch/job.ts";
import { type RankLayout, rankEnvironment } from "../../../../apps/cli/commands/launch/rank-environment.ts";
import { withRestarts } from "../../../../apps/cli/commands/launch/restarts.ts";
import { freePort } from "../../../../apps/cluster/free-port.ts";
import type { SeekError } from "../../../../lib/base/errors.ts";
import { projectRoot } from "../../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
let numJobs = 0;

/** Keeps what is written to it. */
class Kept extends Writable {
  text = "";
  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

interface Job {
  readonly ended: Promise<void>;
  readonly stdout: Kept;
  readonly stderr: Kept;
  /** What a rank's log says after its first line. */
  said(rank: number): string;
}

interface JobDetails extends Partial<RankLayout> {
  readonly graceMs?: number;
  readonly signal?: AbortSignal;
  readonly logs?: string;
}

/** Starts a script once for each rank. */
function start(script: string, details: JobDetails = {}): Job {
  const { graceMs = 5000, signal = new AbortController().signal, ...rest } = details;
  const { logs = join(folder, `job-${++numJobs}`), ...layout } = rest;
  const [stdout, stderr] = [new Kept(), new Kept()];
  const ended = runJob({
    command: [process.execPath, "--input-type=module", "-e", script],
    env: process.env,
    layout: {
      ...{ processes: 2, machines: 1, machine: 0, address: "127.0.0.1", port: 29_500, restarts: 0 },
      ...layout,
    },
    ...{ logs, graceMs, signal, shown: { stdout, stderr } },
  });
  const said = (rank: number): string =>
    readFileSync(join(logs, `rank-0000${rank}.log`), "utf8").replace(/^--- rank .*\n/gm, "");
  return { ended, stdout, stderr, said };
}

/** Waits for something that another process does. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 10));
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const forever = "setInterval(() => {}, 1000);";
/** Writes its process id, and does not listen to SIGTERM. */
const deaf = `process.on("SIGTERM", () => {}); console.log(process.pid); ${forever}`;
const rank = "process.env.RANK";

test("every process finds its place in its environment, on each of the machines", async () => {
  const place = pathToFileURL(join(projectRoot, "dist", "apps", "cluster", "launch-variables.js")).href;
  const script = `const { placeOf } = await import("${place}"); console.log(JSON.stringify(placeOf()));`;
  const layout = { machines: 2, address: "node01", port: 29_501, restarts: 3 };
  const jobs = [0, 1].map((machine) => start(script, { ...layout, machine }));
  await Promise.all(jobs.map(({ ended }) => ended));
  const found = [0, 1, 2, 3].map((each) => JSON.parse(jobs[each >> 1]?.said(each) ?? ""));
  const expected = [0, 1, 2, 3].map((each) => ({
    ...{ rank: each, size: 4, localRank: each % 2, localSize: 2, address: "node01", port: 29_501 },
    ...{ isServedByLauncher: false, restarts: 3 },
  }));
  assert.deepEqual(found, expected);
});

test("rank 0 alone is shown, in its order; every rank has a log of its own", async () => {
  const script = `for (let i = 0; i < 300; i++) console.log(${rank}, i); console.error("rank", ${rank});`;
  const { ended, stdout, stderr, said } = start(script, { processes: 3 });
  await ended;
  const lines = (each: number): string => Array.from({ length: 300 }, (_, i) => `${each} ${i}\n`).join("");
  assert.deepEqual([stdout.text, stderr.text], [lines(0), "rank 0\n"]);
  for (const each of [1, 2]) assert.equal(said(each), `${lines(each)}rank ${each}\n`);
  // Two pipes have no common order.
  assert.equal(said(0).replace("rank 0\n", ""), lines(0));
});

test("the cores are shared among the processes of a machine, unless the environment says otherwise", () => {
  const layout = { machines: 2, machine: 0, address: "a", port: 1, restarts: 0 };
  const threads = (processes: number, inherited: NodeJS.ProcessEnv = {}): string | undefined =>
    rankEnvironment({ ...layout, processes }, 0, inherited).OMP_NUM_THREADS;
  const cores = availableParallelism();
  assert.deepEqual([threads(1), threads(cores), threads(cores + 1)], [String(cores), "1", "1"]);
  assert.equal(threads(2, { OMP_NUM_THREADS: "7" }), "7");
});

test("a rank that is killed takes the job down with one error that names it", {
  timeout: 30_000,
}, async () => {
  const script = `if (${rank} === "1") { console.log("step 7"); process.kill(process.pid, "SIGKILL"); } ${deaf}`;
  const { ended, said } = start(script, { processes: 3, graceMs: 100 });
  await assert.rejects(ended, ({ code, message }: SeekError) => {
    assert.equal(code, "ERR_REMOTE");
    assert.match(
      message,
      /^rank 1 of 3 was killed by SIGKILL; its last lines in \S+rank-00001.log are\n {2}step 7$/,
    );
    return true;
  });
  // Killed as they were, they may not have come as far as to say who they are.
  for (const each of [0, 2]) if (said(each) !== "") assert.ok(!isAlive(Number(said(each))));
});

test("a rank that fails is named with its exit code and at most its last twenty lines", async () => {
  const script = `if (${rank} === "0") { ${forever} } else { for (let i = 1; i < 99; i++) console.log("line", i); process.exitCode = 3; }`;
  await assert.rejects(start(script).ended, ({ message }: Error) => {
    const [first, ...lines] = message.split("\n");
    assert.match(first ?? "", /^rank 1 of 2 ended with exit code 3; its last lines in /);
    assert.deepEqual([lines.length, lines[0], lines.at(-1)], [20, "  line 79", "  line 98"]);
    return true;
  });
});

test("a log that was there is added to, and what it said before is not taken for the reason", async () => {
  const logs = join(folder, "twice");
  await start(`console.log("well");`, { logs }).ended;
  await assert.rejects(start(`process.exitCode = 1;`, { logs }).ended, ({ message }: Error) => {
    assert.match(message, /^rank \d of 2 ended with exit code 1; wrote nothing to \S+$/);
    return true;
  });
  assert.match(
    readFileSync(join(logs, "rank-00001.log"), "utf8"),
    /^--- rank 1, .*\nwell\n--- rank 1, .*\n$/,
  );
});

test("the signal asks all to end, and what does not is killed after the grace", {
  timeout: 30_000,
}, async () => {
  const stop = new AbortController();
  const gentle = `process.on("SIGTERM", () => { console.log("saved"); ${failWith("ERR_ABORTED", "interrupted")} }); console.log("ready"); ${forever}`;
  const script = `if (${rank} === "0") { ${gentle} } else { ${deaf} }`;
  const { ended, stdout, stderr, said } = start(script, { graceMs: 1000, signal: stop.signal });
  await until(() => stdout.text === "ready\n" && /\n$/.test(said(1)));
  stop.abort();
  await ended;
  assert.deepEqual([stdout.text, stderr.text], ["ready\nsaved\n", "ERR_ABORTED: interrupted\n"]);
  assert.ok(!isAlive(Number(said(1))));
});

test("a further signal kills at once those that were asked to end", { timeout: 30_000 }, async () => {
  const stop = new AbortController();
  const { ended, said } = start(deaf, { graceMs: 3_600_000, signal: stop.signal });
  await until(() => [0, 1].every((each) => /\n$/.test(said(each))));
  const before = process.listenerCount("SIGINT");
  stop.abort();
  await until(() => process.listenerCount("SIGINT") > before);
  process.emit("SIGINT", "SIGINT");
  await ended;
  assert.equal(process.listenerCount("SIGINT"), before);
  for (const each of [0, 1]) assert.ok(!isAlive(Number(said(each))));
});

test("a log that cannot be written is an error, and nobody is left running", {
  timeout: 30_000,
}, async () => {
  const logs = join(folder, "full");
  await mkdir(logs);
  await symlink("/dev/full", join(logs, "rank-00001.log"));
  const job = start(`process.on("SIGTERM", () => {}); ${forever}`, { logs, graceMs: 100 });
  await assert.rejects(job.ended, ({ code, message }: SeekError) => {
    assert.equal(code, "ERR_IO");
    assert.match(message, /^--logs: \S+rank-00001.log cannot be written: ENOSPC/);
    return true;
  });
});

test("a program that is not there is an error", async () => {
  const ended = runJob({
    command: [join(folder, "none")],
    env: process.env,
    layout: { processes: 2, machines: 1, machine: 0, address: "127.0.0.1", port: 1, restarts: 0 },
    ...{ logs: join(folder, "none-logs"), graceMs: 100, signal: new AbortController().signal },
    shown: { stdout: new Kept(), stderr: new Kept() },
  });
  await assert.rejects(ended, /^SeekError: a process cannot be started: spawn .* ENOENT$/);
});

test("what a process leaves behind ends with it, and holds nobody up", { timeout: 30_000 }, async () => {
  const left = `import { spawn } from "node:child_process"; const { pid } = spawn("sleep", ["1000"], { stdio: "inherit" });`;
  const { ended, said } = start(`${left} console.log(pid); process.exit();`);
  await ended;
  for (const each of [0, 1]) await until(() => !isAlive(Number(said(each))));
});

/** Ends with an error of this code, as a command of `seekrl` says it. */
const failWith = (code: string, message = ""): string =>
  `process.send(${JSON.stringify({ code, message })}, () => process.exit(1));`;

test("all are started again after one was killed or lost another, and told which start it is", async () => {
  const logs = join(folder, "restarts");
  const fail = `if (count === "0") process.kill(process.pid, "SIGKILL"); else ${failWith("ERR_REMOTE")}`;
  const script = `const { TORCHELASTIC_RESTART_COUNT: count } = process.env; console.log("start", count); if (${rank} === "1" && count < 2) { ${fail} } else if (count < 2) { ${forever} }`;
  const job = start(`console.log("first")`, { logs });
  await job.ended;
  const told: string[] = [];
  const again = (restarts: number): Promise<void> => start(script, { logs, restarts }).ended;
  const io = { signal: new AbortController().signal, log: (line: string) => void told.push(line) };
  assert.equal(await withRestarts(again, { ...io, most: 2, pauseMs: 0 }), 2);
  assert.equal(job.said(1), "first\nstart 0\nstart 1\nstart 2\n");
  assert.equal(told.length, 2);
  assert.match(
    told[1] ?? "",
    /^rank 1 of 2 ended with exit code 1[\s\S]*\nall are started again \(2 of 2\)$/,
  );
  await assert.rejects(withRestarts(again, { ...io, most: 1, pauseMs: 0 }), /^SeekError: rank 1 of 2 ended/);
});

test("what would fail again is not started again, and keeps its code", async () => {
  const io = { signal: new AbortController().signal, log: () => {} };
  const ways = [
    ["process.exitCode = 2;", undefined],
    ["process.exitCode = 1;", "ERR_INTERNAL"],
    ...["ERR_ARGUMENT", "ERR_FORMAT", "ERR_IO", "ERR_STATE"].map((code) => [failWith(code), code] as const),
  ] as const;
  for (const [script, code] of ways) {
    let starts = 0;
    const again = (): Promise<void> => {
      starts++;
      return start(script, { processes: 1 }).ended;
    };
    const isExpected = (error: unknown): boolean =>
      code === undefined ? error instanceof UsageError : (error as SeekError).code === code;
    await assert.rejects(withRestarts(again, { ...io, most: 5 }), isExpected);
    assert.equal(starts, 1);
  }
});

test("a rank that was told of another's error does not hide it", { timeout: 30_000 }, async () => {
  const ready = join(folder, "ready");
  const own = `process.on("SIGTERM", () => { ${failWith("ERR_FORMAT", "f: cut")} }); writeFileSync("${ready}", ""); ${forever}`;
  const told = `const timer = setInterval(() => { if (existsSync("${ready}")) { clearInterval(timer); ${failWith("ERR_REMOTE", "rank 1: f: cut")} } }, 10);`;
  const script = `import { existsSync, writeFileSync } from "node:fs"; if (${rank} === "1") { ${own} } else { ${told} }`;
  const { ended, stderr, said } = start(script);
  await assert.rejects(ended, ({ code, message }: SeekError) => {
    assert.equal(code, "ERR_FORMAT");
    assert.match(message, /^f: cut\nrank 1 of 2 ended with exit code 1; its log is \S+rank-00001\.log$/);
    return true;
  });
  assert.equal(stderr.text, "");
  assert.deepEqual([said(0), said(1)], ["ERR_REMOTE: rank 1: f: cut\n", "ERR_FORMAT: f: cut\n"]);
});

test("whoever ends the launch does not wait for the pause before a start", { timeout: 30_000 }, async () => {
  const stop = new AbortController();
  const killed = (): Promise<void> => start(`process.kill(process.pid, "SIGKILL");`, { processes: 1 }).ended;
  const pauses = { most: 3, pauseMs: 3_600_000, signal: stop.signal, log: () => stop.abort() };
  await assert.rejects(withRestarts(killed, pauses), /^SeekError: rank 0 of 1 was killed by SIGKILL/);
});

test("a free port is one that somebody can listen on", async () => {
  const [one, other] = [await freePort(), await freePort()];
  assert.ok(one > 0 && one <= 65_535 && one !== other);
});

/** `seekrl launch` from outside: its options, its exit codes, Ctrl-C, a launch that is killed. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const inFolder = (name: string): string[] => ["--logs", join(folder, name)];
const list = ["runs", "list", folder];

test("a command is run as many processes, and the result says where their logs are", async () => {
  const { code, stdout, stderr } = await runCli(
    ...["launch", "--processes", "2", ...inFolder("two"), "--json", "--", ...list],
  );
  assert.deepEqual([code, stderr], [0, `no runs below ${folder}\n`]);
  const logs = ["rank-00000.log", "rank-00001.log"].map((name) => join(folder, "two", name));
  assert.deepEqual(JSON.parse(stdout), { ranks: [0, 1], size: 2, restarts: 0, logs });
  for (const log of logs) assert.match(readFileSync(log, "utf8"), /^--- rank [01], .*\nno runs below /);
});

test("one of several machines runs its own ranks, and shows those of rank 0 alone", async () => {
  const place = ["--machines", "2", "--machine", "1", "--address", "127.0.0.1", "--port", "29500"];
  const { code, stdout, stderr } = await runCli(
    ...["launch", "--processes", "2", ...place, ...inFolder("second"), "--", ...list],
  );
  assert.deepEqual([code, stdout, stderr], [0, "", ""]);
  assert.ok(existsSync(join(folder, "second", "rank-00003.log")));
});

test("options that do not fit each other are usage errors that say which", async () => {
  const messages = [
    [["--machines", "2"], "--machine: required with --machines"],
    [["--machines", "2", "--machine", "2"], "--address: required with --machines"],
    [["--machine", "1"], "--machine: expected 0 without --machines"],
    [
      ["--machines", "2", "--machine", "2", "--address", "a", "--port", "1"],
      "--machine: expected 0 to 1, got 2",
    ],
  ] as const;
  for (const [args, message] of messages) {
    const { code, stderr } = await runCli("launch", "--processes", "1", ...args, "--", ...list);
    assert.deepEqual([code, stderr], [2, `error: ${message}\n`]);
  }
});

test("a wrong call of the inner command is a usage error too, a failure is exit code 1", async () => {
  const wrong = await runCli("launch", "--processes", "1", ...inFolder("wrong"), "--", "lst");
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /^error: rank 0 of 1 ended with exit code 2; its last lines in \S+ are$/m);
  const failed = await runCli(
    ...["launch", "--processes", "1", ...inFolder("failed"), "--", "runs", "show", "none"],
  );
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^ERR_REMOTE: rank 0 of 1 ended with exit code 1; /m);
});

/** Two pages of runs, each at a port of its own. */
function launchPages(name: string): ChildProcess {
  const call = ["launch", "--processes", "2", ...inFolder(name), "--", "studio", folder, "--port", "0"];
  return spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...call], { stdio: "ignore" });
}

/** The address that a rank's page says it has, once it does. */
async function pageOf(name: string, rank: number): Promise<string> {
  const log = join(folder, name, `rank-0000${rank}.log`);
  for (;;) {
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(existsSync(log) ? readFileSync(log, "utf8") : "") ?? [];
    if (url !== undefined) return url;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function untilGone(url: string): Promise<void> {
  while (
    await fetch(url).then(
      () => true,
      () => false,
    )
  )
    await new Promise((resolve) => setTimeout(resolve, 20));
}

test("Ctrl-C and SIGTERM end every process, each in its own way", { timeout: 60_000 }, async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const launch = launchPages(signal);
    const urls = [await pageOf(signal, 0), await pageOf(signal, 1)];
    launch.kill(signal);
    const [code] = (await once(launch, "exit")) as [number | null];
    assert.equal(code, 1);
    for (const [rank, url] of urls.entries()) {
      await assert.rejects(fetch(url));
      assert.match(readFileSync(join(folder, signal, `rank-0000${rank}.log`), "utf8"), /\nstopping\n$/);
    }
  }
});

test("the processes of a launch that is killed end by themselves", { timeout: 60_000 }, async () => {
  const launch = launchPages("killed");
  const urls = [await pageOf("killed", 0), await pageOf("killed", 1)];
  launch.kill("SIGKILL");
  for (const url of urls) await untilGone(url);
});

/** `seekrl launch` from outside: what ends it, ranks that fail, several machines. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../../../../apps/cluster/free-port.ts";
import { projectRoot } from "../../../project.ts";
import { runCli } from "../../run-cli.ts";
import { folder, inFolder, numPlans, tuning } from "./planned-tuning.ts";

test("each of several machines runs its own ranks, and rank 0 alone is shown", async () => {
  const meeting = ["--address", "127.0.0.1", "--port", String(await freePort())];
  const [first, second] = await Promise.all(
    ["0", "1"].map((machine) => {
      const place = ["--machines", "2", "--machine", machine, ...meeting];
      return runCli("launch", "--processes", "1", ...place, ...inFolder(machine), "--", ...tuning);
    }),
  );
  assert.deepEqual([first?.code, numPlans(first?.stderr ?? "")], [0, 1], first?.stderr);
  assert.deepEqual(second, { code: 0, stdout: "", stderr: "" });
  assert.equal(numPlans(readFileSync(join(folder, "1", "rank-00001.log"), "utf8")), 1);
});

test("a wrong call of the inner command is a usage error too, a failure is exit code 1; neither is repeated", async () => {
  const wrong = await runCli("launch", "--processes", "1", ...inFolder("wrong"), "--", "lst");
  assert.equal(wrong.code, 2);
  assert.match(
    wrong.stderr,
    /^error: unknown command 'lst'\n.*\nrank 0 of 1 ended with exit code 2; its log is \S+\n$/,
  );
  const failed = await runCli(
    ...["launch", "--processes", "1", "--restarts", "3", ...inFolder("failed")],
    ...["--", "runs", "show", join(folder, "none")],
  );
  assert.equal(failed.code, 1);
  assert.match(failed.stderr, /^ERR_IO: .*none.*\nrank 0 of 1 ended with exit code 1; its log is \S+\n$/);
  assert.equal(
    readFileSync(join(folder, "failed", "rank-00000.log"), "utf8").match(/^--- rank/gm)?.length,
    1,
  );
});

/** A page of runs at a port of its own. */
function launchPage(name: string): ChildProcess {
  const call = ["launch", "--processes", "1", ...inFolder(name), "--", "studio", folder, "--port", "0"];
  return spawn(process.execPath, [join(projectRoot, "bin", "seekrl.mjs"), ...call], { stdio: "ignore" });
}

/** The address that the page says it has, once it does. */
async function pageOf(name: string): Promise<string> {
  const log = join(folder, name, "rank-00000.log");
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

test("Ctrl-C and SIGTERM end the process in its own way", { timeout: 60_000 }, async () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    const launch = launchPage(signal);
    const url = await pageOf(signal);
    launch.kill(signal);
    const [code] = (await once(launch, "exit")) as [number | null];
    assert.equal(code, 1);
    await assert.rejects(fetch(url));
    assert.match(readFileSync(join(folder, signal, "rank-00000.log"), "utf8"), /\nstopping\n$/);
  }
});

test("the process of a launch that is killed ends by itself", { timeout: 60_000 }, async () => {
  const launch = launchPage("killed");
  const url = await pageOf("killed");
  launch.kill("SIGKILL");
  await untilGone(url);
});

/** Processes of a launch meet as one process group, and the one that is killed is the one that is named. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { runJob } from "../../../../apps/cli/commands/launch/job.ts";
import { freePort } from "../../../../apps/cluster/free-port.ts";
import { projectRoot } from "../../../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));

const compiled = (name: string): string => pathToFileURL(join(projectRoot, "dist", `${name}.js`)).href;

/** Opens the group of its place, then does something with it. */
const inGroup = (then: string): string => `
  const { placeOf } = await import("${compiled("apps/cluster/launch-variables")}");
  const { ProcessGroup } = await import("${compiled("lib/comm/process-group")}");
  const { rank, size, address, port, isServedByLauncher: isServed } = placeOf();
  const group = await ProcessGroup.open({ rank, size, address, port, isServed });
  ${then}`;

/** Runs a script as three ranks; returns what rank 0 says. */
async function run(name: string, script: string): Promise<string> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough().resume()];
  const ended = runJob({
    command: [process.execPath, "--input-type=module", "-e", script],
    env: process.env,
    layout: {
      ...{ processes: 3, machines: 1, machine: 0, address: "127.0.0.1" },
      ...{ port: await freePort(), restarts: 0 },
    },
    logs: join(folder, name),
    graceMs: 1000,
    ...{ shown: { stdout, stderr }, signal: new AbortController().signal },
  });
  const said = text(stdout);
  await ended.finally(() => stdout.end());
  return said;
}

test("the ranks that a launch starts meet and tell each other who they are", {
  timeout: 60_000,
}, async () => {
  const gather = `console.log(await group.allGather("ranks", rank)); await group.close();`;
  assert.equal(await run("meet", inGroup(gather)), "[ 0, 1, 2 ]\n");
});

test("of ranks that fail together the one that was killed is named", { timeout: 60_000 }, async () => {
  const die = `
    await group.allGather("ranks", rank);
    if (rank === 1) process.kill(process.pid, "SIGKILL");
    await group.allGather("more", rank);`;
  await assert.rejects(run("die", inGroup(die)), /^SeekError: rank 1 of 3 was killed by SIGKILL; /);
});

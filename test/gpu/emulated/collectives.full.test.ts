/** Collectives between GPUs: the same as between CPUs, over the tests' NCCL of the emulated GPU. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { freePort } from "../../../apps/cluster/free-port.ts";
import { projectRoot } from "../../project.ts";

const built = join(projectRoot, "build", "cmake", "Release");
const [program, emulation] = [join(built, "seekrl_comm_check"), join(built, "libseekrl_emulated.so")];
const skip = existsSync(program) && existsSync(emulation) ? false : "not built: SEEKRL_TESTS is off";

interface Ended {
  readonly code: number | null;
  readonly stderr: string;
}

function ended(child: ChildProcess): Promise<Ended> {
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  return new Promise((done) => child.on("close", (code) => done({ code, stderr: stderr.trim() })));
}

/** Two processes that do every collective and look at the numbers, under variables of the first, or of both. */
async function bothRanks(environments: readonly NodeJS.ProcessEnv[]): Promise<Ended[]> {
  const port = await freePort();
  const environmentOf = (rank: number) => ({ ...process.env, ...(environments[rank] ?? environments[0]) });
  const ranks = [0, 1].map((rank) =>
    spawn(program, [`${rank}`, `${port}`, "emulated"], {
      env: environmentOf(rank),
      stdio: ["ignore", "ignore", "pipe"],
    }),
  );
  return Promise.all(ranks.map(ended));
}

test("two GPUs do every collective in f32 and bf16, with the numbers of the CPU", { skip }, async () => {
  assert.deepEqual(await bothRanks([{}]), Array(2).fill({ code: 0, stderr: "" }));
});

test("a rank that goes in the middle of a sum ends it on the other's GPU, and is named", {
  skip,
}, async () => {
  const [first] = await bothRanks([{ SEEKRL_CHECK_DEATH: "1" }]);
  assert.deepEqual(first, { code: 1, stderr: "a sum: rank 1 has not been heard of for 3 s" });
});

test("an error of NCCL names the collective, and ends the other rank's wait", { skip }, async () => {
  const [first, second] = await bothRanks([{ SEEKRL_EMULATED_NCCL_FAULT: "call" }, {}]);
  assert.deepEqual(first, { code: 1, stderr: "all-reduce: NCCL: unhandled cuda error" });
  assert.match(second!.stderr, /^numbers: rank 0/);
});

test("GPUs that cannot meet say so", { skip }, async () => {
  const [first] = await bothRanks([{ SEEKRL_EMULATED_NCCL_FAULT: "init" }]);
  assert.deepEqual(first, { code: 1, stderr: "all-reduce: NCCL: unhandled cuda error" });
});

/** The scripts of torchrun and Slurm that docs/many-machines.md shows, run as far as to who is which rank. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { dryRun, requireOneJob } from "./dry-run.ts";
import { batchVariables, fileOf, requireTraining } from "./many-machines.ts";

/** Options of torchrun (torch/distributed/run.py) that the page uses. */
const torchrunOptions =
  /^--(nnodes|nproc-per-node|max-restarts|rdzv-backend|rdzv-endpoint|rdzv-id|log-dir|redirects|tee|no-python)$/;

test("torchrun's call on every machine makes one job, whose store torchrun serves", () => {
  const script = fileOf("# torchrun.sh");
  const runs = ["0", "1"].map((machine) => dryRun(script, { GROUP_RANK: machine }));
  for (const { options } of runs) for (const option of options) assert.match(option, torchrunOptions);
  const environments = runs.flatMap(({ calls }) => requireTraining(calls));
  requireOneJob(environments, { size: 16, localSize: 8, address: "node01", isServedByLauncher: true });
});

test("a job of Slurm whose ranks failed goes back into the queue, and not for ever", () => {
  const script = fileOf("#!/bin/bash");
  const variables = { ...batchVariables(script), FAILS: "1" };
  const first = dryRun(script, variables);
  assert.deepEqual([first.code, first.options.at(-1)], [1, "scontrol requeue 4711"]);
  const last = dryRun(script, { ...variables, SLURM_RESTART_COUNT: "20" });
  assert.deepEqual([last.code, last.options.length], [1, 3]);
});

/** Where a process stands, from the variables of real launchers, and what is refused. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { placeOf } from "../../apps/cluster/launch-variables.ts";
import { slurmCounts, slurmHosts } from "../../apps/cluster/launchers/slurm-hosts.ts";

type Variables = Readonly<Record<string, string | undefined>>;

/** The second machine's third process, as torchrun of PyTorch 2.x sets it. */
const torchrun = {
  ...{ LOCAL_RANK: "2", RANK: "6", GROUP_RANK: "1", ROLE_RANK: "6", ROLE_NAME: "default" },
  ...{ LOCAL_WORLD_SIZE: "4", WORLD_SIZE: "8", GROUP_WORLD_SIZE: "2", ROLE_WORLD_SIZE: "8" },
  ...{ MASTER_ADDR: "gpu-a.cluster", MASTER_PORT: "45017", TORCHELASTIC_RESTART_COUNT: "1" },
  ...{ TORCHELASTIC_MAX_RESTARTS: "3", TORCHELASTIC_RUN_ID: "none", TORCHELASTIC_USE_AGENT_STORE: "True" },
};

/** A batch script's own variables, of four nodes with one task each (Slurm 17.11). */
const batch = {
  ...{ SLURM_NODELIST: "gnode[10,20,25,37]", SLURM_JOB_NODELIST: "gnode[10,20,25,37]" },
  ...{ SLURM_NTASKS_PER_NODE: "1", SLURM_NNODES: "4", SLURM_JOBID: "200505", SLURM_JOB_ID: "200505" },
  ...{ SLURM_NTASKS: "4", SLURM_NPROCS: "4", SLURM_TASKS_PER_NODE: "1(x4)", SLURM_PROCID: "0" },
  ...{ SLURM_NODEID: "0", SLURM_LOCALID: "0", SLURM_GTIDS: "0", SLURMD_NODENAME: "gnode10" },
};

/** A task of `srun` on the last of four nodes, which has one task where the others have two. */
const srun = {
  ...batch,
  ...{ SLURM_NTASKS: "7", SLURM_NPROCS: "7", SLURM_PROCID: "6", SLURM_NODEID: "3", SLURM_LOCALID: "0" },
  ...{ SLURM_STEP_ID: "0", SLURM_STEPID: "0", SLURM_STEP_NUM_TASKS: "7", SLURM_STEP_NUM_NODES: "4" },
  ...{ SLURM_STEP_TASKS_PER_NODE: "2(x3),1", SLURM_STEP_NODELIST: "gnode[10,20,25,37]" },
};

const mpirun = {
  ...{ OMPI_COMM_WORLD_SIZE: "6", OMPI_COMM_WORLD_RANK: "4", OMPI_COMM_WORLD_LOCAL_SIZE: "3" },
  ...{ OMPI_COMM_WORLD_LOCAL_RANK: "1", OMPI_COMM_WORLD_NODE_RANK: "1", OMPI_UNIVERSE_SIZE: "8" },
  ...{ MASTER_ADDR: "10.0.0.4", MASTER_PORT: "29500" },
};

/** A process of `mpiexec -n 4` of MPICH (Hydra). */
const mpiexec = {
  ...{ PMI_RANK: "1", PMI_SIZE: "4", PMI_FD: "9", MPI_LOCALRANKID: "1", MPI_LOCALNRANKS: "2" },
};

const pod = {
  JOB_COMPLETION_INDEX: "2",
  HOSTNAME: "seekrl-2",
  WORLD_SIZE: "4",
  MASTER_ADDR: "seekrl-0.seekrl",
};

const skypilot = {
  ...{ SKYPILOT_NODE_RANK: "1", SKYPILOT_NUM_NODES: "2", SKYPILOT_NUM_GPUS_PER_NODE: "1" },
  ...{ SKYPILOT_NODE_IPS: "10.128.0.7\n10.128.0.9\n", SKYPILOT_TASK_ID: "sky-2026-11-20-21-18-31_c_1" },
};

function refused(environment: Variables, message: RegExp): void {
  assert.throws(
    () => placeOf(environment),
    (error: Error & { code?: string }) => {
      assert.equal(error.code, "ERR_ARGUMENT");
      assert.match(error.message, message);
      return true;
    },
  );
}

test("a process that nobody launched is alone, whatever else its environment says", () => {
  for (const environment of [{}, { MASTER_ADDR: "login1", MASTER_PORT: "29500" }, { RANK: "", PATH: "/bin" }])
    assert.equal(placeOf(environment), undefined);
});

test("a launcher's one process is alone", () => {
  const one = { RANK: "0", WORLD_SIZE: "1", LOCAL_RANK: "0", LOCAL_WORLD_SIZE: "1" };
  assert.equal(placeOf(one), undefined);
  assert.equal(placeOf({ ...batch, SLURM_NTASKS: "1" }), undefined);
  assert.equal(placeOf({ ...pod, WORLD_SIZE: "1", MASTER_ADDR: undefined }), undefined);
  assert.equal(
    placeOf({
      ...skypilot,
      SKYPILOT_NUM_NODES: "1",
      SKYPILOT_NODE_IPS: "10.128.0.7",
      SKYPILOT_NODE_RANK: "0",
    }),
    undefined,
  );
});

test("torchrun's variables give the place, and say who serves the store and which attempt it is", () => {
  assert.deepEqual(placeOf(torchrun), {
    ...{ rank: 6, size: 8, localRank: 2, localSize: 4, address: "gpu-a.cluster", port: 45017 },
    ...{ isServedByLauncher: true, restarts: 1 },
  });
  const own = { ...torchrun, TORCHELASTIC_USE_AGENT_STORE: undefined, TORCHELASTIC_RESTART_COUNT: undefined };
  const { isServedByLauncher, restarts } = placeOf(own) ?? {};
  assert.deepEqual([isServedByLauncher, restarts], [false, 0]);
});

test("srun's variables give the place; the ranks meet at the step's first host and a port of the job's own", () => {
  assert.deepEqual(placeOf(srun), {
    ...{ rank: 6, size: 7, localRank: 0, localSize: 1, address: "gnode10", port: 12_505 },
    ...{ isServedByLauncher: false, restarts: 0 },
  });
  const second = placeOf({
    ...srun,
    SLURM_PROCID: "3",
    SLURM_NODEID: "1",
    SLURM_LOCALID: "1",
    SLURM_STEP_ID: "1",
  });
  assert.deepEqual([second?.rank, second?.localRank, second?.localSize, second?.port], [3, 1, 2, 12_602]);
  const named = placeOf({ ...srun, MASTER_ADDR: "ib-gnode10", MASTER_PORT: "29400" });
  assert.deepEqual([named?.address, named?.port], ["ib-gnode10", 29_400]);
});

test("a batch script of many tasks that was not started by srun is refused with the remedy", () => {
  refused(batch, /^SLURM_NTASKS: expected 1 where no srun started the process, got "4"; put srun before/);
});

test("mpirun's variables give the place, with an address that it was told to pass on", () => {
  assert.deepEqual(placeOf(mpirun), {
    ...{ rank: 4, size: 6, localRank: 1, localSize: 3, address: "10.0.0.4", port: 29_500 },
    ...{ isServedByLauncher: false, restarts: 0 },
  });
  refused(
    { ...mpirun, MASTER_ADDR: undefined },
    /^MASTER_ADDR: expected .*, got nothing; .*mpirun -x MASTER_ADDR/,
  );
});

test("several processes of MPICH or Intel MPI are refused, and the remedy gives each its place", () => {
  refused(mpiexec, /^PMI_SIZE: expected 1, .* got "4"; .*Open MPI's mpirun, /);
  // Hydra starts its daemons by srun, one a node.
  refused({ ...srun, ...mpiexec, SLURM_PROCID: "0" }, /^PMI_SIZE: /);
  assert.equal(placeOf({ PMI_RANK: "0", PMI_SIZE: "1" }), undefined);
  // srun's own processes have them too.
  assert.equal(placeOf({ ...srun, PMI_RANK: "6", PMI_SIZE: "7" })?.rank, 6);
  assert.deepEqual(
    [placeOf({ ...mpiexec, ...mpirun })?.size, placeOf({ ...mpiexec, ...torchrun })?.size],
    [6, 8],
  );
  let remedy = "";
  try {
    placeOf(mpiexec);
  } catch (error) {
    [, remedy = ""] = /sh -c '(.*) exec <command>'$/.exec((error as Error).message) ?? [];
  }
  const line = `${remedy.replace("<host of rank 0>", "node01")} exec env`;
  const { stdout } = spawnSync("/bin/sh", ["-c", line], { env: { ...mpiexec, PATH: process.env.PATH } });
  const variables = Object.fromEntries(
    stdout
      .toString()
      .split("\n")
      .map((each) => each.split("=")),
  );
  const { rank, size, localRank, localSize, address } = placeOf(variables) ?? {};
  assert.deepEqual([rank, size, localRank, localSize, address], [1, 4, 1, 2, "node01"]);
});

test("a pod of an Indexed Job is the rank of its index", () => {
  assert.deepEqual(placeOf(pod), {
    ...{ rank: 2, size: 4, localRank: 0, localSize: 1, address: "seekrl-0.seekrl", port: 29_500 },
    ...{ isServedByLauncher: false, restarts: 0 },
  });
  refused({ JOB_COMPLETION_INDEX: "0" }, /^WORLD_SIZE: expected .*, got nothing; .*completions/);
  refused({ ...pod, MASTER_ADDR: undefined }, /^MASTER_ADDR: .*headless service.*coordinator/);
});

test("a node of SkyPilot is the rank of its number, and meets at the first address", () => {
  assert.deepEqual(placeOf(skypilot), {
    ...{ rank: 1, size: 2, localRank: 0, localSize: 1, address: "10.128.0.7", port: 29_500 },
    ...{ isServedByLauncher: false, restarts: 0 },
  });
  refused(
    { ...skypilot, SKYPILOT_NODE_IPS: "10.128.0.7" },
    /^SKYPILOT_NODE_IPS: expected .*SKYPILOT_NUM_NODES=2/,
  );
  refused({ ...skypilot, SKYPILOT_NUM_GPUS_PER_NODE: "8" }, /got "8"; .*seekrl launch --processes/);
});

test("the innermost launcher counts: torchrun, Open MPI, Slurm, Kubernetes, SkyPilot", () => {
  // mpirun's daemons are started by srun, one a node: what Slurm says counts nodes.
  const slurm = { ...srun, SLURM_PROCID: "1" };
  assert.equal(placeOf({ ...skypilot, ...pod, ...slurm, ...mpirun, ...torchrun })?.size, 8);
  assert.equal(placeOf({ ...skypilot, ...pod, ...slurm, ...mpirun })?.size, 6);
  assert.equal(placeOf({ ...skypilot, ...pod, ...slurm })?.size, 7);
  assert.equal(placeOf({ ...skypilot, ...pod })?.size, 4);
});

test("variables that are half set or contradict each other are refused by name", () => {
  refused(
    { WORLD_SIZE: "2" },
    /^RANK: expected a whole number from 0 to 1 \(below WORLD_SIZE\), got nothing; start/,
  );
  refused({ ...torchrun, LOCAL_WORLD_SIZE: undefined }, /^LOCAL_WORLD_SIZE: .* got nothing/);
  refused(
    { ...torchrun, RANK: "8" },
    /^RANK: expected a whole number from 0 to 7 \(below WORLD_SIZE\), got "8"/,
  );
  refused({ ...torchrun, LOCAL_RANK: "4" }, /^LOCAL_RANK: .*from 0 to 3 .* got "4"/);
  refused(
    { ...torchrun, MASTER_PORT: "70000" },
    /^MASTER_PORT: expected a whole number from 1 to 65535, got "70000"/,
  );
  refused({ ...torchrun, TORCHELASTIC_USE_AGENT_STORE: "yes" }, /: expected True or False, got "yes"/);
  refused(
    { ...srun, SLURM_STEP_TASKS_PER_NODE: "2(x3)" },
    /^SLURM_STEP_TASKS_PER_NODE: .* of 7 tasks, got "2\(x3\)"/,
  );
  refused(
    { ...srun, SLURM_STEP_NODELIST: "gnode[10-" },
    /^SLURM_STEP_NODELIST: expected hosts .* got "gnode\[10-"/,
  );
  refused({ ...mpirun, OMPI_COMM_WORLD_RANK: "x" }, /^OMPI_COMM_WORLD_RANK: .* got "x"/);
});

test("lists of hosts and counts are spelled out as scontrol show hostnames does", () => {
  assert.deepEqual([...slurmHosts("node[01-03,07],gpu1")], ["node01", "node02", "node03", "node07", "gpu1"]);
  assert.deepEqual([...slurmHosts("n[098-101]-ib")], ["n098-ib", "n099-ib", "n100-ib", "n101-ib"]);
  const racks = [...slurmHosts("rack[1-2]node[1,3],login")];
  assert.deepEqual(racks, ["rack1node1", "rack1node3", "rack2node1", "rack2node3", "login"]);
  assert.deepEqual([...slurmHosts("localhost")], ["localhost"]);
  for (const wrong of ["", "a,,b", "n[1-2", "n[2-1]", "n[a]", "n]1["])
    assert.throws(() => [...slurmHosts(wrong)]);
  assert.deepEqual(
    [slurmCounts("2(x3),1"), slurmCounts("4"), slurmCounts("2(x")],
    [[2, 2, 2, 1], [4], undefined],
  );
});

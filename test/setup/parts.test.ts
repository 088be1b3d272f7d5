/** What the set-up knows of drivers, GPUs, versions and files. */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { gpuProblem, kernelsFor, type Machine } from "../../apps/cli/machine/machine.ts";
import { setupScripts } from "../../apps/cli/machine/setup-scripts.ts";
import { importScript, projectRoot } from "../project.ts";
import { fakeGpu } from "./fake-torch.ts";

test("driver and GPU decide which builds of torch are looked for, and in which order", async () => {
  const { buildsFor } = await importScript("scripts/setup/cuda/driver.mjs");
  const tags = (version: string, capability: string): string =>
    buildsFor({ version, gpus: [{ name: "gpu", capability, gib: 80 }] })
      .map(({ tag }: { tag: string }) => tag)
      .join(" ");
  assert.equal(tags("580.65.06", "9.0"), "cu130 cu128 cu126");
  assert.equal(tags("575.57.08", "8.0"), "cu128 cu126");
  // Of the same major version, what the driver knows comes before what it runs without knowing it.
  assert.equal(tags("560.35.03", "8.6"), "cu126 cu128");
  assert.equal(tags("525.60.13", "8.9"), "cu126 cu128");
  assert.equal(tags("580.65.06", "12.0"), "cu130 cu128");
  assert.equal(tags("570.26", "10.0"), "cu128");
});

test("kernels are compiled for the GPUs of the machine, as far as nvcc knows them", async () => {
  const { architecturesFor } = await importScript("scripts/setup/cuda/driver.mjs");
  const of = (...capabilities: string[]) => capabilities.map((capability) => ({ capability }));
  assert.deepEqual(architecturesFor(of("9.0", "8.0", "9.0"), [80, 86, 90, 120]), [80, 90]);
  assert.deepEqual(architecturesFor(of("12.0", "7.5"), [80, 86, 90]), [90]);
  assert.deepEqual(architecturesFor([], []), []);
});

test("GPUs are read as nvidia-smi lists them, one without a memory of its own too", async () => {
  const { findDriver } = await importScript("scripts/setup/cuda/driver.mjs");
  const bin = await mkdtemp(join(tmpdir(), "seekrl-gpu-"));
  try {
    await fakeGpu(bin, { memory: "[N/A]", capability: "12.1" });
    const { version, gpus, problem } = await findDriver({ PATH: bin });
    assert.deepEqual([version, problem], ["580.82.07", undefined]);
    assert.deepEqual(gpus, [{ name: "NVIDIA H100 80GB HBM3", capability: "12.1", gib: undefined }]);
  } finally {
    await rm(bin, { recursive: true });
  }
});

test("versions are compared by number, and specifiers read as Python's packages write them", async () => {
  const { satisfies, compareVersions } = await importScript("scripts/setup/versions.mjs");
  assert.ok(compareVersions("2.13.0+cu130", "2.9.1") > 0 && compareVersions("13.0", "13.0.0") === 0);
  const holds: [string, string, boolean][] = [
    ["13.1.0.3", "<=13.1.1.3,>=13.1.0.3", true],
    ["13.4.0.1", "<=13.1.1.3,>=13.1.0.3", false],
    ["13.0.96", "==13.0.96.*", true],
    ["13.0.9", "==13.0.96.*", false],
    ["12.8", "~=12.6", true],
    ["13.0", "~=12.6", false],
    ["1.2", "!=1.2", false],
    ["1.2", "", true],
    ["1.2", "@ file", false],
  ];
  for (const [version, specifier, expected] of holds)
    assert.equal(satisfies(version, specifier), expected, `${version} ${specifier}`);
});

const release = join(projectRoot, "build", "cmake", "Release");
const kernels = join(release, "libseekrl_cuda.so");

test("a library without kernels has code for no GPU", async () => {
  const { architecturesOf } = await setupScripts.elf();
  assert.deepEqual(architecturesOf(join(release, "seekrl.node")), { code: [], ptx: [] });
});

test("the library of kernels tells which GPUs it has code for", {
  skip: !existsSync(kernels) && "no kernels are built",
}, async () => {
  const { architecturesOf } = await setupScripts.elf();
  const { code, ptx } = architecturesOf(kernels);
  assert.ok(code.some((each) => each >= 80) && ptx.length === 1, `${code}; ${ptx}`);
});

test("a GPU runs code of its own generation that is no later than itself, and PTX of any earlier one", () => {
  const way = (capability: string, code: number[], ptx: number[]) =>
    kernelsFor({ capability }, { code, ptx });
  assert.equal(way("8.9", [80], [80]), "code");
  assert.equal(way("8.0", [86], []), undefined);
  assert.equal(way("9.0", [80], [80]), "ptx");
  assert.equal(way("12.0", [80, 90], [90]), "ptx");
  assert.equal(way("8.0", [90], [90]), undefined);
});

const ready: Machine = {
  ...{
    node: "v20",
    platform: "linux x64",
    addonProblem: undefined,
    packages: [],
    hardware: { processor: "", instructions: [], memory: { bytes: 0, freeBytes: 0 }, caches: [] },
    leastDrivers: { 12: "525.60.13", 13: "580.65.06" },
    driverRunsCuda: true,
    driverRunsKernels: true,
    noGpuRemedy: "docker run --gpus all",
    nvcc: undefined,
  },
  driver: { version: "580.82.07", gpus: [{ name: "gpu", capability: "9.0", gib: 80 }], problem: undefined },
  libtorch: { folder: "torch", version: "2.13.0", cuda: "13.0", problem: undefined },
  kernels: { file: "libseekrl_cuda.so", code: [90], ptx: [90] },
  graphs: "libseekrl_graphs.so",
};

test("what keeps a GPU from running is said with the remedy", () => {
  assert.equal(gpuProblem(ready), undefined);
  const { driver, libtorch } = ready;
  const problems: [Partial<Machine>, RegExp][] = [
    [
      { driver: { version: undefined, gpus: [], problem: "nvidia-smi was not found" } },
      /no NVIDIA driver \(nvidia-smi was not found\)\. Remedy: install NVIDIA's driver, 525\.60\.13 or later for CUDA 12, 580\.65\.06 or later for CUDA 13;.*; then npx seekrl setup cuda/,
    ],
    [{ driver: { ...driver, gpus: [] } }, /shows no GPU .*Remedy: docker run --gpus all\.$/],
    [{ platform: "darwin arm64" }, /^expected Linux, got darwin arm64\. Remedy: a machine with Linux/],
    [{ addonProblem: "the native addon is not built" }, /^the native addon is not built$/],
    [
      { libtorch: libtorch && { ...libtorch, problem: "missing libcublas.so.13" } },
      /missing libcublas\.so\.13/,
    ],
    [
      { libtorch: libtorch && { ...libtorch, cuda: undefined } },
      /torch is a CPU build\. Remedy: npx seekrl setup cuda/,
    ],
    [{ driverRunsCuda: false }, /driver 580\.82\.07 does not run CUDA 13\.0/],
    [
      { driverRunsKernels: false, kernels: { file: "", code: [80], ptx: [80], cuda: "13.0" } },
      /driver 580\.82\.07 does not run CUDA 13\.0, by which the kernels .*Remedy: install NVIDIA's driver/,
    ],
    [{ kernels: undefined }, /no library of kernels/],
    [{ kernels: { file: "", code: [100], ptx: [100] } }, /no code for these GPUs/],
  ];
  for (const [change, message] of problems) assert.match(gpuProblem({ ...ready, ...change }) ?? "", message);
});

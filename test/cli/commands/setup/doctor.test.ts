/** The doctor's words and numbers, with GPUs that only nvidia-smi knows of. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { after, test } from "node:test";
import { fakeGpu } from "../../../setup/fake-torch.ts";
import { runCli } from "../../run-cli.ts";

const bin = await mkdtemp(join(tmpdir(), "seekrl-doctor-"));
after(() => rm(bin, { recursive: true }));
const path = process.env.PATH;

async function withGpu<T>(gpu: Parameters<typeof fakeGpu>[1], work: () => Promise<T>): Promise<T> {
  await fakeGpu(bin, gpu);
  process.env.PATH = `${bin}${delimiter}${path}`;
  try {
    return await work();
  } finally {
    process.env.PATH = path;
  }
}

test("the doctor says which GPUs, driver, libtorch and kernels there are, and what would run", async () => {
  const { code, stdout } = await withGpu({ driver: "550.54.14" }, () => runCli("doctor"));
  assert.equal(code, 0);
  assert.match(stdout, /^driver {4}550\.54\.14$/m);
  assert.match(stdout, /^GPU 0 {4}NVIDIA H100 80GB HBM3, compute capability 9\.0, 79\.6 GiB, /m);
  assert.match(stdout, /^libtorch {2}2\.1[123]\.\d+, (CPU build|CUDA [\d.]+) \(.*\)$/m);
  assert.match(stdout, /^cpu {7}runs$/m);
  assert.match(stdout, /^nvcc {6}(none|[\d.]+ \(.+\))$/m);
  const { stdout: json } = await withGpu({}, () => runCli("doctor", "--json"));
  const { driver, libtorch, runs } = JSON.parse(json);
  assert.equal(driver.gpus[0].capability, "9.0");
  assert.match(libtorch.version, /^2\.1[123]/);
  assert.equal(runs.cpu, true);
});

test("the doctor tries a device: what is generated there is scored with the same bits, and a step trains", async () => {
  const { code, stdout, stderr } = await runCli("doctor", "--device", "cpu", "--json");
  assert.equal(code, 0, stderr);
  assert.equal(JSON.parse(stdout).checked.tokens, 12);
  assert.match(
    (await runCli("doctor")).stdout,
    /^cpu: 12 tokens generated, scored with the same bits, and trained on$/m,
  );
  const refused = await runCli("doctor", "--device", "gpu");
  assert.equal(refused.code, 2);
  assert.match(refused.stderr, /^error: --device: expected cpu or cuda, got "gpu"$/m);
});

test("setting up refuses a driver that is too old, as a command with an exit code", async () => {
  const { code, stderr } = await withGpu({ driver: "470.82.01" }, () => runCli("setup", "cuda", "--dry-run"));
  assert.equal(code, 1);
  assert.match(
    stderr,
    /ERR_DEVICE: driver 470\.82\.01 is too old: .*Remedy: install driver 580\.65\.06 or later/,
  );
});

test("setting up refuses a build of torch that is none with those that there are", async () => {
  const { code, stderr } = await withGpu({}, () => runCli("setup", "cuda", "--build", "cu99", "--dry-run"));
  assert.equal(code, 1);
  assert.match(stderr, /^ERR_RANGE: build: expected one of cu130, cu128, cu126, got cu99$/m);
});

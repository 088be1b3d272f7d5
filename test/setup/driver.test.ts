/** What the set-up makes of drivers, GPUs and compilers that are not as they should be. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { importScript, projectRoot } from "../project.ts";
import { fakeGpu, programAt } from "./fake-torch.ts";
import { machine, scratch } from "./machine.ts";

const { architecturesFor, buildsFor, findDriver } = (await importScript("scripts/setup/cuda/driver.mjs")) as {
  architecturesFor(gpus: readonly object[], known: readonly number[]): number[];
  buildsFor(driver: object): readonly { readonly tag: string }[];
  findDriver(env: NodeJS.ProcessEnv): Promise<{
    readonly version: string | undefined;
    readonly gpus: readonly { readonly name: string; readonly gib: number | undefined }[];
    readonly problem: string | undefined;
  }>;
};
const { findNvcc } = (await importScript("scripts/setup/cuda/nvcc.mjs")) as {
  findNvcc(env: NodeJS.ProcessEnv): Promise<{ readonly path: string; readonly version: string }>;
};
const { kernelsProblem } = (await importScript("scripts/setup/native.mjs")) as {
  kernelsProblem(folder: string, definitions: Readonly<Record<string, string>>): string | undefined;
};

test("what nvidia-smi remarks between the lines of GPUs is no GPU", async () => {
  const { env, bin } = await machine({ also: "WARNING: infoROM is corrupted at gpu 0000:5E:00.0" });
  const { gpus, problem } = await findDriver(env);
  assert.deepEqual([gpus.length, problem], [1, undefined]);
  await programAt(join(bin, "nvidia-smi"), 'echo "No devices were found"');
  assert.deepEqual((await findDriver(env)).gpus, []);
  assert.match((await findDriver(env)).problem ?? "", /^nvidia-smi: No devices were found$/);
});

test("GPUs of different kinds, and a slice of one, are taken as they are", async () => {
  const slice = "NVIDIA H100 80GB HBM3 MIG 1g.10gb, 9.0, 580.82.07, [Insufficient Permissions]";
  const { env } = await machine({ capability: "7.5", also: slice });
  const driver = await findDriver(env);
  assert.deepEqual(
    driver.gpus.map(({ name, gib }) => [name, gib?.toFixed(1)]),
    [
      ["NVIDIA H100 80GB HBM3", "79.6"],
      ["NVIDIA H100 80GB HBM3 MIG 1g.10gb", undefined],
    ],
  );
  assert.equal(buildsFor(driver)[0]?.tag, "cu130");
  assert.deepEqual(architecturesFor(driver.gpus, [75, 80, 90]), [90]);
});

test("GPUs that CUDA_VISIBLE_DEVICES hides are none, and those that it names stay", async () => {
  const { env } = await machine();
  for (const hidden of ["", "-1", " ", "-1,0"]) {
    const { version, gpus, problem } = await findDriver({ ...env, CUDA_VISIBLE_DEVICES: hidden });
    assert.deepEqual([version, gpus], ["580.82.07", []]);
    assert.match(problem ?? "", /^CUDA_VISIBLE_DEVICES=".*" hides them$/);
  }
  for (const shown of ["0", "0,-1", "GPU-8a1c", "MIG-7c1d"])
    assert.equal((await findDriver({ ...env, CUDA_VISIBLE_DEVICES: shown })).gpus.length, 1);
});

test("a driver that is too old to tell of GPUs is too old, and one without GPUs is a container's", () => {
  const refused = (driver: object, message: RegExp): void =>
    assert.throws(() => buildsFor(driver), { code: "ERR_DEVICE", message });
  const problem = 'nvidia-smi: Field "compute_cap" is not a valid field to query.';
  refused(
    { version: "470.82.01", gpus: [], problem },
    /driver 470\.82\.01 is too old.*Remedy: install driver 580/,
  );
  refused(
    { version: "580.159.04", gpus: [], problem: "nvidia-smi was not found" },
    /driver 580\.159\.04 shows no GPU \(nvidia-smi was not found\)\. Remedy: in a container, .*docker run --gpus all/,
  );
});

test("nvcc is CUDA_HOME's, else the first of the path that is not too old", async () => {
  const { env, bin, home } = await machine({ nvcc: "11.5" });
  const [later, named] = [join(home, "later"), join(home, "named")];
  await fakeGpu(later, { nvcc: "12.8" });
  await fakeGpu(join(named, "bin"), { nvcc: "12.6" });
  const own = { ...env, PATH: `${bin}:${later}` };
  const version = async (given: NodeJS.ProcessEnv): Promise<string> => (await findNvcc(given)).version;
  assert.equal(await version(own), "12.8");
  assert.equal((await findNvcc(own)).path, join(later, "nvcc"));
  assert.equal(await version({ ...own, CUDA_HOME: named }), "12.6");
});

test("an nvcc that does not compile here is quoted, and tried again by the next configuring", async () => {
  const [source, build] = [join(scratch, "kernels"), join(scratch, "kernels", "build")];
  const nvcc = join(source, "nvcc");
  await mkdir(source);
  await writeFile(
    join(source, "CMakeLists.txt"),
    `cmake_minimum_required(VERSION 3.22)\nproject(kernels NONE)\nadd_custom_target(seekrl_addons)\ninclude(${join(projectRoot, "native/kernels/cuda/build.cmake")})\n`,
  );
  const definitions = { SEEKRL_CUDA: "ON", SEEKRL_NVCC: nvcc };
  const configure = (): void => {
    const given = Object.entries(definitions).map(([name, value]) => `-D${name}=${value}`);
    execFileSync("cmake", ["-S", source, "-B", build, ...given], { stdio: "ignore" });
  };
  await programAt(
    nvcc,
    "echo 'unsupported GNU version! gcc versions later than 15 are not supported!' >&2; exit 1",
  );
  configure();
  assert.match(
    kernelsProblem(build, definitions) ?? "",
    /nvcc does not compile C\+\+20 here:\nunsupported GNU version/,
  );
  await programAt(nvcc, "exit 0");
  configure();
  assert.ok(!existsSync(join(build, "cuda", "complaint.txt")));
  await mkdir(join(build, "Release"), { recursive: true });
  await writeFile(join(build, "Release", "libseekrl_cuda.so"), "");
  assert.equal(kernelsProblem(build, definitions), undefined);
  assert.equal(kernelsProblem(build, { SEEKRL_CUDA: "OFF" }), undefined);
});

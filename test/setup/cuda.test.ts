/** `seekrl setup cuda` against a server that plays the index, with a GPU that only nvidia-smi knows of. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import type { CudaSetupOptions } from "../../apps/cli/machine/setup-scripts.ts";
import { libtorchLibraries } from "../../lib/base/addon/libtorch.ts";
import type { LibtorchFolder } from "../../lib/base/packages/libtorch-folder.ts";
import { importScript, projectRoot } from "../project.ts";
import {
  type Files,
  fakeGpu,
  fakeIndex,
  nvidiaFiles,
  programAt,
  torchFiles,
  unpackTo,
  wheelsOfCuda13,
  zipOf,
} from "./fake-torch.ts";
import { machine, scratch, setUp, skip } from "./machine.ts";

const { chooseLibtorch, findLibtorch } = (await importScript("scripts/setup/libtorch.mjs")) as {
  chooseLibtorch(folder: string, env: NodeJS.ProcessEnv): Promise<void>;
  findLibtorch(env: NodeJS.ProcessEnv): Promise<string>;
};
const { librariesOf } = (await importScript("scripts/setup/cuda/libraries.mjs")) as {
  librariesOf(torch: string): { needed: string[]; missing: { library: string; neededBy: string }[] };
};

/** The kernel says so, whatever a test hides from the path. */
const hasDriver = existsSync("/proc/driver/nvidia/version") && "this machine has a driver of its own";

test("the libraries of a CUDA build open in the order in which they are given, wherever they lie", {
  skip,
}, async () => {
  const site = join(scratch, "site");
  await unpackTo(site, await torchFiles(scratch), ...Object.values(await nvidiaFiles(scratch)));
  const folder = join(site, "torch");
  const { needed, missing } = librariesOf(folder);
  assert.deepEqual(missing, []);
  assert.deepEqual(
    needed.map((path) => path.slice(site.length)),
    ["libcudart.so.913", "libcublasLt.so.913", "libcublas.so.913"].map((name) => `/nvidia/cu13/lib/${name}`),
  );
  const preload = join(projectRoot, "build", "cmake", "Release", "seekrl_preload.node");
  const open = (paths: readonly string[]) =>
    spawnSync(
      process.execPath,
      [
        "-e",
        "const [addon, ...paths] = process.argv.slice(1); for (const each of paths) require(addon).openLibrary(each)",
        preload,
        ...paths,
      ],
      { encoding: "utf8" },
    );
  const { status, stderr } = open(libtorchLibraries({ folder, needed }));
  assert.equal(status, 0, stderr);
  assert.match(
    open(libtorchLibraries({ folder })).stderr,
    /libcudart\.so\.913: cannot open shared object file/,
  );
  const gone = join(site, "nvidia", "cu13", "lib", "libcublas.so.913");
  await rm(gone);
  assert.throws(() => libtorchLibraries({ folder, needed }), {
    code: "ERR_STATE",
    message: /expected libcublas\.so\.913 in/,
  });
});

const index = "http://127.0.0.1:9";

test("a driver, GPU or compiler that cannot run any build is refused with what would", async () => {
  const refused = async (gpu: Parameters<typeof fakeGpu>[1], code: string, message: RegExp, options = {}) => {
    const { env } = await machine(gpu);
    await assert.rejects(setUp({ env, index, ...options }), { code, message });
  };
  await refused(
    { driver: "470.82.01" },
    "ERR_DEVICE",
    /driver 470\.82\.01 is too old: expected 525\.60\.13 or later.*Remedy: install driver 580/,
  );
  await refused(
    { capability: "7.5" },
    "ERR_DEVICE",
    /capability 8\.0 or later, got NVIDIA H100 80GB HBM3 \(7\.5\)/,
  );
  await refused(
    { driver: "550.54.14" },
    "ERR_DEVICE",
    /nvcc 13\.0 \(\S+\) makes kernels that driver 550\.54\.14 does not run\. Remedy: .* 12\.x .*, or install driver 580/,
  );
  await refused(
    { driver: "550.54.14", nvcc: "12.6" },
    "ERR_DEVICE",
    /build cu130 does not run on driver 550\.54\.14/,
    { build: "cu130" },
  );
  const { env, home } = await machine();
  await fakeGpu(join(home, "old", "bin"), { nvcc: "11.8" });
  await assert.rejects(setUp({ env: { ...env, CUDA_HOME: join(home, "old") }, index }), {
    code: "ERR_STATE",
    message: /nvcc: expected release 12\.0 or later.*, got 11\.8 \(\S+old\/bin\/nvcc\)/,
  });
});

test("a machine without a driver is refused with the option that builds there", {
  skip: hasDriver,
}, async () => {
  const { env, bin } = await machine();
  await rm(join(bin, "nvidia-smi"));
  await assert.rejects(setUp({ env, index }), {
    code: "ERR_DEVICE",
    message:
      /no NVIDIA driver was found \(nvidia-smi was not found\)\. Remedy: install driver.* without a GPU, .*: --build cu130/,
  });
});

/** The environment of a machine in which SEEKRL_LIBTORCH names a torch. */
async function naming(
  { env, home }: Awaited<ReturnType<typeof machine>>,
  name: string,
  options: Parameters<typeof torchFiles>[1],
  ...more: readonly Files[]
) {
  await unpackTo(join(home, name), await torchFiles(scratch, options), ...more);
  return { ...env, SEEKRL_LIBTORCH: join(home, name, "torch") };
}

test("a libtorch that SEEKRL_LIBTORCH names is used or refused, never passed over", { skip }, async () => {
  const own = await machine();
  const { env, home } = own;
  const refused = (named: NodeJS.ProcessEnv, message: RegExp): Promise<void> =>
    assert.rejects(setUp({ env: named, index }), { code: "ERR_STATE", message });
  await refused(await naming(own, "cpu", { cuda: null }), /SEEKRL_LIBTORCH: .*: a CPU build\. Remedy/);
  await refused(await naming(own, "old", { version: "2.10.1" }), /version 2\.10\.1, expected 2\.11 to 2\.13/);
  await refused(
    await naming(own, "bare", {}),
    /missing libcudart\.so\.913 \(needed by libc10_cuda\.so; in nvidia-cuda-runtime\), libcublas\.so\.913/,
  );
  await refused(
    { ...env, SEEKRL_LIBTORCH: "/nonexistent" },
    /SEEKRL_LIBTORCH: \/nonexistent: there is no such folder/,
  );
  await refused({ ...env, SEEKRL_LIBTORCH: home }, /: no lib\/libtorch_cpu\.so\. Remedy/);
  const nvidia = Object.values(await nvidiaFiles(scratch));
  await refused(
    await naming(own, "later", { cuda: "14.0" }, ...nvidia),
    /of CUDA 14\.0, expected 13\.0, 12\.8, 12\.6/,
  );
  // The driver runs every CUDA of a major version.
  const minor = await naming(own, "minor", { cuda: "13.2" }, ...nvidia);
  assert.deepEqual((await setUp({ env: minor, index })).built, [minor.SEEKRL_LIBTORCH]);
  const whole = await naming(own, "whole", {}, ...nvidia);
  assert.deepEqual((await setUp({ env: whole, index })).built, [whole.SEEKRL_LIBTORCH]);
});

test("without a driver, the torch that SEEKRL_LIBTORCH names is that of the build that is asked for", {
  skip: skip || hasDriver,
}, async () => {
  const own = await machine();
  const env = await naming(own, "whole", {}, ...Object.values(await nvidiaFiles(scratch)));
  await rm(join(own.bin, "nvidia-smi"));
  const { said } = await setUp({ env, index, build: "cu130", dryRun: true });
  assert.match(said, /no GPU here; torch build that was asked for: cu130$/m);
});

test("an image is prepared where the driver of its host is seen, and nothing is tried on its GPUs", {
  skip,
}, async () => {
  const own = await machine();
  const whole = await naming(own, "whole", {}, ...Object.values(await nvidiaFiles(scratch)));
  const env = { ...whole, CUDA_VISIBLE_DEVICES: "" };
  const { said, built, found } = await setUp({ env, index, build: "cu130" });
  assert.match(said, /no GPU here; torch build that was asked for: cu130$/m);
  assert.deepEqual([built, found["checked"]], [[whole.SEEKRL_LIBTORCH], undefined]);
  await assert.rejects(setUp({ env, index }), {
    code: "ERR_DEVICE",
    message: /shows no GPU \(CUDA_VISIBLE_DEVICES="" hides them\)/,
  });
});

test("the torch of an environment's Python is taken without asking the network", { skip }, async () => {
  const { env, home, bin } = await machine({ driver: "580.159.04" });
  const site = join(home, ".venv", "lib", "python3.12", "site-packages");
  const files = await torchFiles(scratch, { version: "2.11.0" });
  await unpackTo(site, files, ...Object.values(await nvidiaFiles(scratch)));
  const folder = join(site, "torch");
  await programAt(join(bin, "python3"), `echo ${folder}; echo ${home}/.venv/bin/python3`);
  const { built, said } = await setUp({ env, index });
  assert.deepEqual(built, [folder]);
  assert.match(said, /libtorch 2\.11\.0 with CUDA 13\.0/);
  // One that is not active is not found, and the way to it is said before anything is downloaded.
  await programAt(join(bin, "python3"), "echo; echo /usr/bin/python3");
  let last = "";
  await assert.rejects(
    setUp({ env, index }).catch((error: Error) => {
      last = error.message;
      throw error;
    }),
    { code: "ERR_REMOTE" },
  );
  assert.match(last, /Remedy: .* or a torch that is here already, .* in SEEKRL_LIBTORCH/);
  const named = await setUp({ env: { ...env, SEEKRL_LIBTORCH: folder }, index });
  assert.deepEqual(named.built, [folder]);
});

test("an installed package builds nothing: it takes the torch that its addon was built for, on a driver of its kernels", {
  skip,
}, async () => {
  const { env, bin, cache } = await machine();
  await rm(join(bin, "nvcc"), { force: true });
  const index = await fakeIndex({ cu130: await wheelsOfCuda13(scratch) });
  const refused = (addon: CudaSetupOptions["addon"], code: string, message: RegExp, own = env) =>
    assert.rejects(setUp({ env: own, index: index.url, addon }), { code, message });
  try {
    await refused({ libtorch: "2.12.7", kernels: "13.0" }, "ERR_REMOTE", /no torch 2\.12\.7 of cu130/);
    await refused({ libtorch: "2.13.0", kernels: undefined }, "ERR_STATE", /no kernels for GPUs\. Remedy/);
    const old = (await machine({ driver: "550.54.14" })).env;
    await refused(
      { libtorch: "2.13.0", kernels: "13.0" },
      "ERR_DEVICE",
      /of CUDA 13\.0, which driver 550\.54\.14 does not run\. Remedy: install driver 580/,
      old,
    );
    const addon = { libtorch: "2.13.0", kernels: "13.0" };
    const { built } = await setUp({ env, index: index.url, addon });
    const folder = join(cache, "libtorch-2.13.0-cu130", "torch");
    assert.deepEqual(built, [folder]);
    await chooseLibtorch(folder, env);
    const chosen = JSON.parse(await readFile(join(cache, "libtorch.json"), "utf8")) as LibtorchFolder;
    assert.equal(chosen.folder, folder);
    assert.equal(chosen.needed?.length, 3);
  } finally {
    index.close();
  }
});

test("a wheel that pip downloads is kept with its licences, which whoever packs it passes on", {
  skip,
}, async () => {
  const { env, home, bin, cache } = await machine();
  await rm(join(bin, "nvidia-smi"));
  const files = await torchFiles(scratch, { cuda: null });
  const licence = { "torch-2.13.0+cpu.dist-info/licenses/LICENSE": "may be passed on" };
  const wheel = join(home, "torch-2.13.0+cpu-py3-none-any.whl");
  await writeFile(wheel, zipOf({ ...files, ...licence }));
  await programAt(
    join(bin, "python3"),
    `[ "$1" = -c ] && exit 0; while [ "$1" != -d ]; do shift; done; /bin/cp ${wheel} "$2"`,
  );
  const folder = await findLibtorch(env);
  assert.equal(folder, join(cache, "libtorch-2.13.0-cpu"));
  assert.equal(await readFile(join(folder, "licenses", "LICENSE"), "utf8"), "may be passed on");
});

/** A machine whose Python has a torch with CUDA, and whose cache has a CPU build. */
async function machineOfBoth() {
  const own = await machine();
  const { home, bin, cache } = own;
  await unpackTo(join(home, "site"), await torchFiles(scratch), ...Object.values(await nvidiaFiles(scratch)));
  await unpackTo(join(home, "own"), await torchFiles(scratch, { cuda: null }));
  await mkdir(cache);
  execFileSync("cp", ["-r", join(home, "own", "torch"), join(cache, "libtorch-2.13.0-cpu")]);
  const cuda = join(home, "site", "torch");
  await programAt(join(bin, "python3"), `echo ${cuda}`);
  return { ...own, cuda, cpu: join(cache, "libtorch-2.13.0-cpu") };
}

test("Python's torch with CUDA comes before a CPU build where there is a driver", { skip }, async () => {
  const { env, cuda } = await machineOfBoth();
  // An empty variable names nothing.
  const unnamed = { ...env, SEEKRL_LIBTORCH: "" };
  for (const each of [env, unnamed]) {
    assert.equal(await findLibtorch(each), cuda);
    assert.deepEqual((await setUp({ env: each, index })).built, [cuda]);
  }
});

test("Python's torch with CUDA comes after a CPU build where there is no driver", {
  skip: skip || hasDriver,
}, async () => {
  const { env, bin, cpu } = await machineOfBoth();
  await rm(join(bin, "nvidia-smi"));
  assert.equal(await findLibtorch(env), cpu);
});

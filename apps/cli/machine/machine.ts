/** What a machine has to run models on, as found, and what follows from it. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { native } from "../../../lib/base/addon/native.ts";
import { buildCommand } from "../../../lib/base/package-root.ts";
import {
  type FoundAddon,
  findAddon,
  graphsFile,
  kernelsFile,
} from "../../../lib/base/packages/find-addon.ts";
import { checkSums } from "../../../lib/base/packages/stamp.ts";
import { type FoundHardware, findHardware } from "./hardware.ts";
import {
  type Architectures,
  type FoundDriver,
  type FoundGpu,
  type FoundNvcc,
  setupScripts,
} from "./setup-scripts.ts";

/** What was found. */
export interface Machine {
  readonly node: string;
  /** For example `linux x64`. */
  readonly platform: string;
  readonly hardware: FoundHardware;
  readonly driver: FoundDriver;
  /** Undefined where there is no addon. */
  readonly libtorch:
    | {
        readonly folder: string;
        readonly version: string | undefined;
        /** For example `13.0`; undefined for a CPU build. */
        readonly cuda: string | undefined;
        /** Why it cannot be loaded. */
        readonly problem: string | undefined;
      }
    | undefined;
  /** Why there is no addon; undefined where there is one. */
  readonly addonProblem: string | undefined;
  /** What addon and libtorch came in, for example `@seekrl/linux-x64 0.1.0`, all files as they were packed; none in a clone. */
  readonly packages: readonly string[];
  /** Where it is found, a build compiles the kernels for GPUs too. */
  readonly nvcc: FoundNvcc | undefined;
  /** The library of kernels for GPUs; undefined where it was not built. */
  readonly kernels:
    | (Architectures & {
        readonly file: string;
        /** That a package's were compiled by; undefined in a clone. */
        readonly cuda?: string | undefined;
      })
    | undefined;
  /** The library that makes one launch of a step's kernels; undefined where it was not built: each is launched by itself. */
  readonly graphs: string | undefined;
  /** The oldest driver that runs a CUDA, by CUDA's major version. */
  readonly leastDrivers: Readonly<Record<string, string>>;
  /** Whether the driver runs the CUDA version of libtorch. */
  readonly driverRunsCuda: boolean;
  /** Whether it runs the kernels' too, which need not be the same. */
  readonly driverRunsKernels: boolean;
  /** What lets programs see a GPU where the driver shows none. */
  readonly noGpuRemedy: string;
}

/** The addon, every byte of its packages as they were packed, loaded; or why there is none. */
function lookForAddon(): { readonly addon?: FoundAddon; readonly problem?: string } {
  try {
    const addon = findAddon();
    if (addon.package !== undefined) checkSums(addon.package.folder, addon.package.stamp);
    const { folder, stamp } = addon.libtorch;
    if (stamp !== undefined) checkSums(folder, stamp);
    native();
    return { addon };
  } catch (error) {
    return { problem: (error as Error).message };
  }
}

function packagesOf(addon: FoundAddon | undefined): string[] {
  const stamps = [addon?.package?.stamp, addon?.libtorch.stamp];
  return stamps.flatMap((stamp) => (stamp === undefined ? [] : [`${stamp.package} ${stamp.version}`]));
}

async function lookAtLibtorch(addon: FoundAddon | undefined): Promise<Machine["libtorch"]> {
  if (addon === undefined) return undefined;
  const { folder, stamp } = addon.libtorch;
  // A package has no headers, which a build needs.
  if (stamp !== undefined) return { folder, version: stamp.libtorch, cuda: undefined, problem: undefined };
  const { versionOf, cudaOf, refusal } = await setupScripts.torchFolder();
  const [version, cuda, problem] = await Promise.all([versionOf(folder), cudaOf(folder), refusal(folder)]);
  return { folder, version, cuda, problem };
}

async function findKernels(addon: FoundAddon | undefined): Promise<Machine["kernels"]> {
  const file = addon && join(addon.folder, kernelsFile);
  if (file === undefined || !existsSync(file)) return undefined;
  const { architecturesOf } = await setupScripts.elf();
  const { LEAST_CAPABILITY } = await setupScripts.driver();
  const { code, ptx } = architecturesOf(file);
  // What nvcc links in beside the kernels has code of its own, for lesser GPUs.
  const cuda = addon?.package?.stamp.kernels;
  return { file, code: code.filter((each) => each >= LEAST_CAPABILITY), ptx, cuda };
}

function findGraphs(addon: FoundAddon | undefined): string | undefined {
  const file = addon && join(addon.folder, graphsFile);
  return file !== undefined && existsSync(file) ? file : undefined;
}

/** Looks at the machine and the build. */
export async function findMachine(): Promise<Machine> {
  const { BUILDS, findDriver, noGpuRemedy, runsCuda } = await setupScripts.driver();
  const { findNvcc } = await setupScripts.nvcc();
  const driver = await findDriver();
  const { addon, problem } = lookForAddon();
  const libtorch = await lookAtLibtorch(addon);
  const kernels = await findKernels(addon);
  const runs = (cuda: string): boolean => driver.version !== undefined && runsCuda(driver.version, cuda);
  return {
    ...{
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      hardware: findHardware(),
      driver,
      libtorch,
    },
    ...{ addonProblem: problem, packages: packagesOf(addon) },
    nvcc: await findNvcc(),
    ...{ kernels, graphs: findGraphs(addon) },
    leastDrivers: Object.fromEntries(BUILDS.map(({ cuda, least }) => [cuda.split(".")[0], least])),
    driverRunsCuda: libtorch?.cuda !== undefined && runs(libtorch.cuda),
    driverRunsKernels: kernels?.cuda === undefined || runs(kernels.cuda),
    noGpuRemedy,
  };
}

/** How a GPU runs kernels: by machine code of its generation, by PTX of an earlier one, or not at all. */
export function kernelsFor(
  { capability }: Pick<FoundGpu, "capability">,
  { code, ptx }: Architectures,
): "code" | "ptx" | undefined {
  const [major = 0, minor = 0] = capability.split(".").map(Number);
  const own = major * 10 + minor;
  if (code.some((each) => Math.floor(each / 10) === major && each <= own)) return "code";
  return ptx.some((each) => each <= own) ? "ptx" : undefined;
}

/** Why the processor would run nothing, with the remedy; undefined when it would. */
export function processorProblem({ libtorch, addonProblem }: Machine): string | undefined {
  if (addonProblem !== undefined) return addonProblem;
  if (libtorch?.problem !== undefined)
    return `libtorch in ${libtorch.folder}: ${libtorch.problem}. Remedy: ${buildCommand()}.`;
  return undefined;
}

function driverRemedy({ leastDrivers }: Machine): string {
  const versions = Object.entries(leastDrivers).map(([cuda, least]) => `${least} or later for CUDA ${cuda}`);
  return `Remedy: install NVIDIA's driver, ${versions.join(", ")}`;
}

/** Why `--device cuda` would run nothing, with the remedy; undefined when it would. */
export function gpuProblem(machine: Machine): string | undefined {
  const { driver, libtorch, kernels, driverRunsCuda, driverRunsKernels } = machine;
  const remedy = "Remedy: npx seekrl setup cuda.";
  if (!machine.platform.startsWith("linux "))
    return `expected Linux, got ${machine.platform}. Remedy: a machine with Linux and an NVIDIA GPU.`;
  if (driver.version === undefined)
    return (
      `no NVIDIA driver (${driver.problem ?? "no GPU answers"}). ${driverRemedy(machine)}; ` +
      "or let the container see the GPUs (docker run --gpus all); then npx seekrl setup cuda."
    );
  if (driver.gpus.length === 0)
    return `driver ${driver.version} shows no GPU (${driver.problem ?? "none is listed"}). Remedy: ${machine.noGpuRemedy}.`;
  const problem = processorProblem(machine);
  if (problem !== undefined) return problem;
  if (libtorch?.cuda === undefined) return `libtorch in ${libtorch?.folder} is a CPU build. ${remedy}`;
  if (!driverRunsCuda)
    return `driver ${driver.version} does not run CUDA ${libtorch.cuda}, of which libtorch is. ${remedy}`;
  if (kernels === undefined)
    return `there is no library of kernels: it is built where nvcc is found. ${remedy}`;
  if (!driverRunsKernels)
    return (
      `driver ${driver.version} does not run CUDA ${kernels.cuda}, by which the kernels of this package were compiled. ` +
      `${driverRemedy(machine)}.`
    );
  if (driver.gpus.every((gpu) => kernelsFor(gpu, kernels) === undefined))
    return `the library of kernels has no code for these GPUs. Remedy: ${buildCommand()}.`;
  return undefined;
}

/** What a machine has to run models on, as found, and what follows from it. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { buildCommand, packageRoot } from "../../../lib/base/package-root.ts";
import type { LibtorchFolder } from "../../../lib/base/packages/libtorch-folder.ts";
import {
  type Architectures,
  type FoundCard,
  type FoundDriver,
  type FoundNvcc,
  setupScripts,
} from "./setup-scripts.ts";

/** What was found. */
export interface Machine {
  readonly node: string;
  /** For example `linux x64`. */
  readonly platform: string;
  readonly driver: FoundDriver;
  /** Undefined where nothing was built. */
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
  readonly hasAddon: boolean;
  /** Where it is found, a build compiles the kernels for cards too. */
  readonly nvcc: FoundNvcc | undefined;
  /** The library of kernels for cards; undefined where it was not built. */
  readonly kernels: (Architectures & { readonly file: string }) | undefined;
  /** Whether the driver runs the CUDA version of libtorch. */
  readonly driverRunsCuda: boolean;
}

const release = join(packageRoot, "build", "cmake", "Release");

function builtFolder(): string | undefined {
  const file = join(packageRoot, "build", "libtorch.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as LibtorchFolder).folder : undefined;
}

async function findLibtorch(): Promise<Machine["libtorch"]> {
  const folder = builtFolder();
  if (folder === undefined) return undefined;
  const { versionOf, cudaOf, refusal } = await setupScripts.torchFolder();
  const [version, cuda, problem] = await Promise.all([versionOf(folder), cudaOf(folder), refusal(folder)]);
  return { folder, version, cuda, problem };
}

async function findKernels(): Promise<Machine["kernels"]> {
  const file = join(release, "libseekrl_cuda.so");
  if (!existsSync(file)) return undefined;
  const { architecturesOf } = await setupScripts.elf();
  const { LEAST_CAPABILITY } = await setupScripts.driver();
  const { code, ptx } = architecturesOf(file);
  // What nvcc links in beside the kernels has code of its own, for lesser cards.
  return { file, code: code.filter((each) => each >= LEAST_CAPABILITY), ptx };
}

/** Looks at the machine and the build; loads no library. */
export async function findMachine(): Promise<Machine> {
  const { findDriver, runsCuda } = await setupScripts.driver();
  const { findNvcc } = await setupScripts.nvcc();
  const driver = await findDriver();
  const libtorch = await findLibtorch();
  return {
    ...{ node: process.version, platform: `${process.platform} ${process.arch}`, driver, libtorch },
    hasAddon: existsSync(join(release, "seekrl.node")),
    nvcc: await findNvcc(),
    kernels: await findKernels(),
    driverRunsCuda:
      driver.version !== undefined && libtorch?.cuda !== undefined && runsCuda(driver.version, libtorch.cuda),
  };
}

/** How a card runs kernels: by machine code of its generation, by PTX of an earlier one, or not at all. */
export function kernelsFor(
  { capability }: Pick<FoundCard, "capability">,
  { code, ptx }: Architectures,
): "code" | "ptx" | undefined {
  const [major = 0, minor = 0] = capability.split(".").map(Number);
  const own = major * 10 + minor;
  if (code.some((each) => Math.floor(each / 10) === major && each <= own)) return "code";
  return ptx.some((each) => each <= own) ? "ptx" : undefined;
}

/** Why the processor would run nothing, with the remedy; undefined when it would. */
export function processorProblem({ libtorch, hasAddon }: Machine): string | undefined {
  if (libtorch === undefined || !hasAddon) return `the native addon is not built. Remedy: ${buildCommand()}.`;
  if (libtorch.problem !== undefined)
    return `libtorch in ${libtorch.folder}: ${libtorch.problem}. Remedy: ${buildCommand()}.`;
  return undefined;
}

/** Why `--device cuda` would run nothing, with the remedy; undefined when it would. */
export function cardProblem(machine: Machine): string | undefined {
  const { driver, libtorch, kernels, driverRunsCuda } = machine;
  const remedy = "Remedy: npx seekrl setup cuda.";
  if (driver.version === undefined)
    return (
      `no NVIDIA driver (${driver.problem ?? "no card answers"}). Remedy: install NVIDIA's driver, 525.60.13 or later ` +
      "(580.65.06 for CUDA 13), or let the container see the cards (docker run --gpus all); then npx seekrl setup cuda."
    );
  if (driver.cards.length === 0)
    return `driver ${driver.version} shows no card (${driver.problem ?? "none is listed"}). ${remedy}`;
  const problem = processorProblem(machine);
  if (problem !== undefined) return problem;
  if (libtorch?.cuda === undefined) return `libtorch in ${libtorch?.folder} is a CPU build. ${remedy}`;
  if (!driverRunsCuda)
    return `driver ${driver.version} does not run CUDA ${libtorch.cuda}, of which libtorch is. ${remedy}`;
  if (kernels === undefined)
    return `there is no library of kernels: it is built where nvcc is found. ${remedy}`;
  if (driver.cards.every((card) => kernelsFor(card, kernels) === undefined))
    return `the library of kernels has no code for these cards. Remedy: ${buildCommand()}.`;
  return undefined;
}

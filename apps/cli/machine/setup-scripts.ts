/** The set-up's own scripts, which run before anything is compiled, seen from the command line. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { packageRoot } from "../../../lib/base/package-root.ts";

/** A GPU of this machine. */
export interface FoundGpu {
  readonly name: string;
  /** Compute capability, for example `9.0`. */
  readonly capability: string;
  /** Its own memory; undefined where it shares the processor's. */
  readonly gib: number | undefined;
}

/** What drives GPUs, and which there are. */
export interface FoundDriver {
  readonly version: string | undefined;
  readonly gpus: readonly FoundGpu[];
  /** Why GPUs could not be listed. */
  readonly problem: string | undefined;
}

/** Compute capabilities times ten that a library has machine code for, and PTX, which is compiled at first use. */
export interface Architectures {
  readonly code: readonly number[];
  readonly ptx: readonly number[];
}

interface DriverScript {
  /** torch's builds for GPUs, with the oldest driver that runs them. */
  readonly BUILDS: readonly { readonly cuda: string; readonly least: string }[];
  readonly LEAST_CAPABILITY: number;
  readonly noGpuRemedy: string;
  findDriver(): Promise<FoundDriver>;
  runsCuda(driverVersion: string, cuda: string): boolean;
}

/** NVIDIA's compiler, which the kernels for GPUs are built with. */
export interface FoundNvcc {
  readonly path: string;
  /** For example `13.0`. */
  readonly version: string;
}

interface NvccScript {
  findNvcc(): Promise<FoundNvcc | undefined>;
}

interface TorchFolderScript {
  versionOf(folder: string): Promise<string | undefined>;
  cudaOf(folder: string): Promise<string | undefined>;
  refusal(folder: string): Promise<string | undefined>;
}

interface LibtorchScript {
  chooseLibtorch(folder: string, env: NodeJS.ProcessEnv): Promise<void>;
}

interface ElfScript {
  architecturesOf(path: string): Architectures;
}

/** What `seekrl setup cuda` may be told. */
export interface CudaSetupOptions {
  readonly index?: string | undefined;
  readonly build?: string | undefined;
  readonly dryRun?: boolean;
  readonly env?: NodeJS.ProcessEnv;
  readonly signal?: AbortSignal;
  /** In place of the global one, which knows no proxies. */
  readonly fetch?: (url: string, init?: RequestInit) => Promise<Response>;
  /** Of a package, which is not built: the libtorch that it needs, and the CUDA of its kernels. */
  readonly addon?:
    | { readonly libtorch: string | undefined; readonly kernels: string | undefined }
    | undefined;
  /** Before a download is tried again. */
  readonly pauseMs?: number;
}

interface CudaSetupScript {
  setUpCuda(
    options: CudaSetupOptions,
    parts: { build(folder: string): Promise<void>; check(): Promise<object> },
  ): Promise<object>;
}

const scriptOf = (name: string): Promise<unknown> =>
  import(pathToFileURL(join(packageRoot, "scripts", "setup", name)).href);

/** The scripts by what they find, each loaded when it is asked for. */
export const setupScripts = {
  driver: () => scriptOf("cuda/driver.mjs") as Promise<DriverScript>,
  nvcc: () => scriptOf("cuda/nvcc.mjs") as Promise<NvccScript>,
  torchFolder: () => scriptOf("torch-folder.mjs") as Promise<TorchFolderScript>,
  elf: () => scriptOf("cuda/elf.mjs") as Promise<ElfScript>,
  libtorch: () => scriptOf("libtorch.mjs") as Promise<LibtorchScript>,
  cuda: () => scriptOf("cuda/setup.mjs") as Promise<CudaSetupScript>,
};

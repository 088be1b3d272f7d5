/** `seekrl setup cuda`: makes a machine with a GPU ready for `--device cuda`. */
import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { routedFetch } from "../../../../connectors/remote/network/routed-fetch.ts";
import { cacheFolder } from "../../../../lib/base/disk/cache-folder.ts";
import { writeRefusal } from "../../../../lib/base/disk/refused-write.ts";
import { SeekError } from "../../../../lib/base/errors.ts";
import { isClone, packageRoot } from "../../../../lib/base/package-root.ts";
import { findAddon, kernelsFile } from "../../../../lib/base/packages/find-addon.ts";
import { thisHost } from "../../../../lib/base/packages/host.ts";
import { findPlatformPackage } from "../../../../lib/base/packages/platform-package.ts";
import { type CommandIo, command } from "../../command.ts";
import { type CudaSetupOptions, setupScripts } from "../../machine/setup-scripts.ts";

interface ChildResult {
  readonly code: number | null;
  readonly stdout: string;
}

/** A program of this package; what it says to people goes on to standard error. */
async function run(
  args: readonly string[],
  { env, signal }: Pick<CommandIo, "env" | "signal">,
): Promise<ChildResult> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"], env, signal });
  let stdout = "";
  child.stdout.on("data", (chunk) => {
    stdout += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", (error) =>
      reject(signal.aborted ? new SeekError("ERR_ABORTED", "setup cuda: aborted", { cause: error }) : error),
    );
    child.on("close", resolve);
  });
  return { code, stdout };
}

/** What the packaged addon needs; undefined in a clone, which builds one. */
function packagedAddon(): CudaSetupOptions["addon"] {
  if (isClone()) return undefined;
  const { stamp } = findPlatformPackage(packageRoot, thisHost);
  return { libtorch: stamp.libtorch, kernels: stamp.kernels };
}

/** Builds the addons against a libtorch, and the kernels for the GPUs of this machine; a package's addon only takes it. */
async function build(folder: string, io: CommandIo): Promise<void> {
  if (!isClone()) return (await setupScripts.libtorch()).chooseLibtorch(folder, io.env);
  const env = { ...io.env, SEEKRL_LIBTORCH: folder };
  // The command line runs: its TypeScript is compiled.
  const script = join(packageRoot, "scripts", "setup", "install.mjs");
  const { code } = await run([script, "--native"], { ...io, env });
  if (code !== 0) throw new SeekError("ERR_STATE", "setup cuda: the addons were not built: see above");
  const kernels = join(findAddon().folder, kernelsFile);
  if (!existsSync(kernels))
    throw new SeekError(
      "ERR_STATE",
      `setup cuda: ${kernels} was not built: see above. Remedy: a host compiler that this nvcc supports (CUDA's installation guide has ` +
        "a table), or a later nvcc, its folder in CUDA_HOME.",
    );
}

/** In a process of its own, which has loaded no other libtorch and may die without taking this one along. */
async function check(io: CommandIo): Promise<object> {
  const args = [join(packageRoot, "bin", "seekrl.mjs"), "doctor", "--device", "cuda", "--json"];
  const { code, stdout } = await run(args, io);
  if (code === 0) return (JSON.parse(stdout) as { checked: object }).checked;
  throw new SeekError(
    "ERR_DEVICE",
    "setup cuda: the build is done, but the check on the GPU failed: see above. Remedy: npx seekrl doctor.",
  );
}

/** The command. */
export const setupCudaCommand = command({
  name: "setup cuda",
  summary:
    "finds or downloads a CUDA torch, builds against it or has the package use it, and checks it on the GPU",
  goesOn: "with the download where it was",
  options: z.strictObject({
    build: z
      .string()
      .optional()
      .describe(
        "which of torch's builds, such as cu130 (the newest that driver and GPUs run; needed where there is no GPU)",
      ),
    index: z
      .url()
      .optional()
      .describe("mirror of torch's wheels, with a folder for each build, in place of PyTorch's own"),
    dryRun: z.boolean().default(false).describe("says what would be done and downloaded, and does nothing"),
  }),
  run: async (options, io) => {
    const { setUpCuda } = await setupScripts.cuda();
    const { signal, env } = io;
    const found = await setUpCuda(
      { ...options, addon: packagedAddon(), signal, env, fetch: routedFetch },
      { build: (folder) => build(folder, io), check: () => check(io) },
    ).catch((error) => {
      throw writeRefusal(error, cacheFolder("", env)) ?? error;
    });
    if (!options.dryRun) io.write("ready: npx seekrl generate --device cuda ...\n");
    io.result(found);
  },
});

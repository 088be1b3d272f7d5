/** A machine with a cache of its own for a test of `seekrl setup cuda`, whose builds and checks are not made. */

import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import type { CudaSetupOptions } from "../../apps/cli/machine/setup-scripts.ts";
import { setupScripts } from "../../apps/cli/machine/setup-scripts.ts";
import { fakeGpu } from "./fake-torch.ts";

/** Removed when the file's tests are over. */
export const scratch = await mkdtemp(join(tmpdir(), "seekrl-setup-"));
after(() => rm(scratch, { recursive: true }));

const hasCompiler = process.platform === "linux" && spawnSync("gcc", ["--version"]).status === 0;
export const skip = hasCompiler
  ? false
  : "gcc on Linux, which makes the libraries of these tests, is not there";

let count = 0;

/** A machine with a cache of its own, nothing in its path but what a test puts there. */
export async function machine(gpu: Parameters<typeof fakeGpu>[1] = {}) {
  const home = join(scratch, `machine-${count++}`);
  const bin = join(home, "bin");
  await mkdir(bin, { recursive: true });
  await fakeGpu(bin, gpu);
  const env: NodeJS.ProcessEnv = { PATH: bin, SEEKRL_CACHE: join(home, "cache") };
  return { home, bin, env, cache: join(home, "cache") };
}

/** What the set-up said, did and returned. */
export async function setUp(options: CudaSetupOptions) {
  const { setUpCuda } = await setupScripts.cuda();
  const built: string[] = [];
  const write = process.stderr.write;
  let said = "";
  process.stderr.write = (text: string | Uint8Array) => {
    said += text;
    return true;
  };
  try {
    const found = await setUpCuda(
      { pauseMs: 1, ...options },
      { build: async (folder) => void built.push(folder), check: async () => ({ tokens: 12 }) },
    );
    return { found: found as Record<string, unknown>, built, said };
  } finally {
    process.stderr.write = write;
  }
}

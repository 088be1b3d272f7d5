/** The platforms that have a package of their own, and what stands in it. */
import process from "node:process";
import { SetupError } from "../setup/report.mjs";

/**
 * `files` are made by the build, those in `perhaps` only where it found a CUDA compiler; `libtorch` are the libraries that
 * a program opens, which the package of libtorch has with what they need beside them. `libc` is npm's word.
 */
const table = {
  "linux-x64": linux("x64"),
  "linux-arm64": linux("arm64"),
};

function linux(cpu) {
  return {
    fields: { os: ["linux"], cpu: [cpu], libc: ["glibc"] },
    files: ["seekrl.node", "seekrl_preload.node"],
    perhaps: ["libseekrl_cuda.so"],
    libtorch: ["libc10.so", "libtorch_cpu.so", "libtorch.so"],
  };
}

/** Names of packages for a platform. */
export const packageNames = {
  platform: (name) => `@seekrl/${name}`,
  libtorch: (name) => `@seekrl/libtorch-${name}`,
};

/** All that there are, for example `linux-x64`. */
export const platformNames = Object.keys(table);

/** The row of a platform, this one unless named: `name` with its fields. */
export function platformOf(name = `${process.platform}-${process.arch}`) {
  const row = table[name];
  if (row === undefined)
    throw new SetupError(`no package is made for ${name}: expected one of ${platformNames.join(", ")}.`);
  return { name, ...row };
}

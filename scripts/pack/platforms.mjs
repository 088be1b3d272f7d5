/** The platforms that have a package of their own, and what stands in it. */
import process from "node:process";
import { SetupError } from "../setup/report.mjs";
import { libraryFile } from "../setup/torch-folder.mjs";

const addons = ["seekrl.node", "seekrl_preload.node"];

const libtorchOf = (os) => ["c10", "torch_cpu", "torch"].map((name) => libraryFile(name, os));

/**
 * `files` are made by the build, those in `perhaps` only where it found a CUDA compiler; `libtorch` are the libraries that
 * a program opens, which the package of libtorch has with what they need beside them. `libc` is npm's word.
 */
const table = {
  "linux-x64": linux("x64"),
  "linux-arm64": linux("arm64"),
  "darwin-arm64": {
    fields: { os: ["darwin"], cpu: ["arm64"] },
    files: addons,
    perhaps: [],
    libtorch: libtorchOf("darwin"),
  },
};

function linux(cpu) {
  return {
    fields: { os: ["linux"], cpu: [cpu], libc: ["glibc"] },
    files: addons,
    perhaps: ["libseekrl_cuda.so", "libseekrl_graphs.so"],
    libtorch: libtorchOf("linux"),
  };
}

/** Whether a row is of macOS, whose files are Mach-O, made and changed by tools of its own. */
export const isMacos = ({ fields }) => fields.os.includes("darwin");

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

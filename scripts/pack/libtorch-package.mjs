/** Stages the package of libtorch for a platform: the libraries that the addon needs, stripped, with all their licences. */
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { builtLibtorch } from "../setup/build.mjs";
import { dynamicOf } from "../setup/cuda/elf.mjs";
import { SetupError } from "../setup/report.mjs";
import { cudaOf, versionOf } from "../setup/torch-folder.mjs";
import { requireBaseline } from "./baseline.mjs";
import { licencesOf, ownTerms } from "./licences/third-party.mjs";
import { machOOf } from "./mach-o.mjs";
import { isMacos, packageNames } from "./platforms.mjs";
import { writeStamp } from "./stamp.mjs";
import { copyStripped } from "./strip.mjs";
import { writeManifest } from "./tarball.mjs";

/** Licences that the wheel lacks: of the run-time library of OpenMP beside it, GCC's or LLVM's, and of oneMKL, which is in it. */
const ownLicences = join(dirname(fileURLToPath(import.meta.url)), "licences");

/**
 * The version of libtorch's packages, their own: raised when anything in one of them changes, libtorch or what is beside it.
 * npm takes no version twice, so with libtorch's a package could never be mended.
 */
export const libtorchPackageVersion = "1.0.0";

/** The libraries of a folder that some of them need, those themselves included, each after what it needs. */
export function closureOf(folder, names) {
  const found = [];
  const follow = (name) => {
    if (found.includes(name) || !existsSync(join(folder, name))) return;
    const path = join(folder, name);
    for (const needed of (machOOf(path) ?? dynamicOf(path)).needed) follow(basename(needed));
    if (!found.includes(name)) found.push(name);
  };
  for (const name of names) follow(name);
  return found;
}

/** Intel's library is part of the wheels for Intel's processors alone. */
const hasMkl = ({ fields }) => fields.cpu.includes("x64");

const openmpOf = (platform) => (isMacos(platform) ? "libomp" : "libgomp");

/** The licences of a wheel, and those that it lacks. */
async function copyLicences(libtorch, folder, platform) {
  const licences = licencesOf(libtorch);
  await cp(join(licences, "LICENSE"), join(folder, "LICENSE"));
  await cp(licences, join(folder, "licenses"), { recursive: true });
  for (const name of [openmpOf(platform), ...(hasMkl(platform) ? ["onemkl"] : [])])
    await cp(join(ownLicences, name), join(folder, "licenses", name), { recursive: true });
}

/** The package's licences, as SPDX combines them. */
export function licenseOf(platform) {
  const all = ["BSD-3-Clause", ownTerms[openmpOf(platform)]];
  return [...all, ...(hasMkl(platform) ? [ownTerms.onemkl] : [])].join(" AND ");
}

/** The GCC that a library says it was made with; undefined where it says nothing. */
export async function gccOf(path) {
  const text = await readFile(path, "latin1");
  return /(?:running gcc|GCC: \([^)]*\)) (\d+\.\d+\.\d+)/.exec(text)?.[1];
}

const libgomp = `- libgomp is GCC's, under the GNU General Public License 3 or later with the GCC Runtime Library Exception 3.1
  (\`licenses/libgomp\`); its source is part of GCC's, at https://gcc.gnu.org/releases.html.
`;

const madeWith = (gcc) => `  It says of itself that it was made with GCC ${gcc}.
`;

const libomp = `- libomp is LLVM's, under the Apache License 2.0 with LLVM's exceptions (\`licenses/libomp\`).
`;

const mkl = `- libtorch_cpu contains Intel's oneAPI Math Kernel Library, under the Intel Simplified Software License (\`licenses/onemkl\`).
`;

/** The package's own page. */
export const readme = (platform, { name, version, libraries, gcc }) => `# ${name}

libtorch ${version} for the CPU, as PyTorch publishes it, without the symbols that only a debugger reads and without what
[seekrl](https://www.npmjs.com/package/seekrl) does not load. Installing \`seekrl\` installs it.

- ${libraries.join(", ")}: PyTorch, under the licence in LICENSE; what is compiled into them is under those in \`licenses\`.
${isMacos(platform) ? libomp : libgomp}${gcc === undefined ? "" : madeWith(gcc)}${hasMkl(platform) ? mkl : ""}`;

/** Stages the package under `folder`, out of the libtorch that the checkout was built with. */
export async function stageLibtorch(platform, folder, root) {
  const libtorch = builtLibtorch(root);
  if ((await cudaOf(libtorch)) !== undefined)
    throw new SetupError(
      `${libtorch}: a CUDA build, whose libraries are not packed. Remedy: build with a CPU libtorch.`,
    );
  const held = await versionOf(libtorch);
  const name = packageNames.libtorch(platform.name);
  const names = closureOf(join(libtorch, "lib"), platform.libtorch);
  await rm(folder, { recursive: true, force: true });
  await mkdir(join(folder, "lib"), { recursive: true });
  for (const each of names)
    await copyStripped(join(libtorch, "lib", each), join(folder, "lib", each), platform);
  const files = names.map((each) => `lib/${each}`);
  await requireBaseline(files.map((file) => join(folder, file)));
  await copyLicences(libtorch, folder, platform);
  const about = { version: libtorchPackageVersion, libtorch: held };
  await writeStamp(folder, files, { package: name, ...about });
  const gomp = names.find((each) => each.startsWith("libgomp"));
  const gcc = gomp && (await gccOf(join(libtorch, "lib", gomp)));
  const page = readme(platform, { name, version: held, libraries: names, gcc });
  await writeFile(join(folder, "README.md"), page);
  await writeManifest(folder, {
    ...{ name, ...about, description: `libtorch ${held} for the CPU, for seekrl on ${platform.name}.` },
    ...{ license: licenseOf(platform), ...platform.fields },
  });
}

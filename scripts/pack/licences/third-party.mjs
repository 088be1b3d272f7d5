/** What of others is compiled into what is packed, and their licences, which go with it in THIRD_PARTY.md. */
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SetupError } from "../../setup/report.mjs";

/** A package's name, version, licence by SPDX's name, and the text of it in a folder of npm's. */
async function npmPart(root, path, file, use) {
  const folder = join(root, "node_modules", path);
  const { name, version, license } = JSON.parse(await readFile(join(folder, "package.json"), "utf8"));
  return { name, version, license, use, text: await readFile(join(folder, file), "utf8") };
}

/** In the addons. usearch carries NumKong, of which alone something is compiled. */
export const addonParts = async (root) => [
  await npmPart(root, "node-addon-api", "LICENSE.md", "Headers of every addon."),
  await npmPart(root, "usearch/numkong", "LICENSE", "The distances of vectors in seekrl.node."),
];

/** In the studio's page, which has their licences beside it. */
export const pageParts = async (root) => [
  await npmPart(root, "preact", "LICENSE", "What draws the page in dist/studio."),
  await npmPart(root, "uplot", "LICENSE", "The curves in it."),
];

/** The licences of what the wheel has beside PyTorch's own and brings no text of, as SPDX writes them. */
export const ownTerms = {
  libgomp: "GPL-3.0-or-later WITH GCC-exception-3.1",
  libomp: "Apache-2.0 WITH LLVM-exception",
  onemkl: "LicenseRef-Intel-Simplified-Software-License",
};

/** The folder of a wheel's licences, which the set-up keeps beside its libraries. */
export function licencesOf(libtorch) {
  const folder = join(libtorch, "licenses");
  if (existsSync(join(folder, "LICENSE"))) return folder;
  throw new SetupError(
    `${folder}: expected the licences of libtorch and of what it contains, which its wheel has. Remedy: remove ` +
      `${libtorch} and run npm run build, which fetches it again with them.`,
  );
}

/** PyTorch's, of which headers are compiled into the addons. */
export async function torchPart(libtorch, version) {
  const text = await readFile(join(licencesOf(libtorch), "LICENSE"), "utf8");
  return { name: "pytorch", version, license: "BSD-3-Clause", use: "Headers of seekrl.node.", text };
}

/** NVIDIA's run-time library, which nvcc of a version links into the kernels for GPUs. */
export const cudaPart = (version) => ({
  name: "cudart",
  version,
  license: "LicenseRef-NVIDIA-CUDA-EULA",
  url: "https://docs.nvidia.com/cuda/eula/",
  use: "NVIDIA's CUDA run-time library, linked statically into libseekrl_cuda.so and libseekrl_graphs.so. CUDA Toolkit End User License Agreement:",
});

/** A part's chapter: what it is for, and its licence as its own package has it, or where that stands. */
function chapter({ name, version, license, use, url, text }) {
  const terms = text === undefined ? `Its terms: ${url}` : `~~~\n${text.trimEnd()}\n~~~`;
  return `## ${name} ${version}\n\n${use} ${license}.\n\n${terms}\n`;
}

/** Writes THIRD_PARTY.md into a staged folder. */
export async function writeThirdParty(folder, parts) {
  const head = "# What of others is compiled into this package\n";
  await writeFile(join(folder, "THIRD_PARTY.md"), [head, ...parts.map(chapter)].join("\n"));
}

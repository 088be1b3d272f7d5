/** Stages the package of a platform: the addons of this build, stripped, with what they were built for. */
import { existsSync } from "node:fs";
import { copyFile, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { builtLibtorch } from "../setup/build.mjs";
import { findNvcc } from "../setup/cuda/nvcc.mjs";
import { SetupError } from "../setup/report.mjs";
import { versionOf } from "../setup/torch-folder.mjs";
import { requireBaseline } from "./baseline.mjs";
import { bringUpToDate } from "./fresh.mjs";
import { addonParts, cudaPart, torchPart, writeThirdParty } from "./licences/third-party.mjs";
import { packageNames } from "./platforms.mjs";
import { writeStamp } from "./stamp.mjs";
import { copyStripped } from "./strip.mjs";
import { writeManifest } from "./tarball.mjs";

const readme = (name) => `# ${name}

The part of [seekrl](https://www.npmjs.com/package/seekrl) that is machine code, for one platform. Installing \`seekrl\`
installs it where it runs; there is no need to name it.
`;

const notice = `SeekRL

THIRD_PARTY.md names what of others is compiled into these files, with its licences. libtorch (BSD-3-Clause), which they open, is a
package of its own.
`;

/** The texts that go with the files. */
export async function writeTexts(folder, root, { name, libtorch, version, kernels }) {
  await copyFile(join(root, "LICENSE"), join(folder, "LICENSE"));
  await writeFile(join(folder, "NOTICE"), notice);
  await writeFile(join(folder, "README.md"), readme(name));
  const parts = [...(await addonParts(root)), await torchPart(libtorch, version)];
  await writeThirdParty(folder, kernels === undefined ? parts : [...parts, cudaPart(kernels)]);
}

/** The package's licences, as SPDX combines them: NVIDIA's run-time library is in the kernels for GPUs. */
export const licenseOf = (kernels) =>
  kernels === undefined ? "Apache-2.0" : `Apache-2.0 AND ${cudaPart(kernels).license}`;

/** The version of the compiler whose kernels are among files; undefined without kernels. */
async function kernelsOf(platform, files) {
  return files.some((file) => platform.perhaps.includes(file)) ? (await findNvcc())?.version : undefined;
}

/** Stages the package under `folder`; `root` is the checkout. */
export async function stagePlatform(platform, folder, root) {
  const { version, binary } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const release = join(root, "build", "cmake", "Release");
  const built = (name) => existsSync(join(release, name));
  const missing = platform.files.filter((name) => !built(name));
  if (missing.length > 0) throw new SetupError(`${missing.join(", ")}: not built. Remedy: npm run build.`);
  const files = [...platform.files, ...platform.perhaps.filter(built)];
  await bringUpToDate(root, files);
  const name = packageNames.platform(platform.name);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const file of files) await copyStripped(join(release, file), join(folder, file), platform);
  const libtorch = builtLibtorch(root);
  const neighbours = platform.libtorch.map((each) => join(libtorch, "lib", each));
  await requireBaseline(
    files.map((file) => join(folder, file)),
    neighbours,
  );
  const builtFor = await versionOf(libtorch);
  const kernels = await kernelsOf(platform, files);
  await writeStamp(folder, files, {
    package: name,
    version,
    napi: Math.max(...binary.napi_versions),
    libtorch: builtFor,
    kernels,
  });
  await writeTexts(folder, root, { name, libtorch, version: builtFor, kernels });
  await writeManifest(folder, {
    name,
    version,
    description: `SeekRL's addon for ${platform.name}.`,
    license: licenseOf(kernels),
    // What the package of libtorch has to hold.
    libtorch: builtFor,
    ...platform.fields,
  });
}

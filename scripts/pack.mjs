/** Assembles what is published into a folder, as tarballs; `usage` says how it is called. */
import { mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { readCall } from "./pack/call.mjs";
import { stageLibtorch } from "./pack/libtorch-package.mjs";
import { stageMain } from "./pack/main-package.mjs";
import { stagePlatform } from "./pack/platform-package.mjs";
import { platformOf } from "./pack/platforms.mjs";
import { writeSbom } from "./pack/sbom.mjs";
import { pack, packedManifests } from "./pack/tarball.mjs";
import { runMain, SetupError, say } from "./setup/report.mjs";
import { compileTypeScript } from "./setup/typescript.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const stages = {
  platform: (folder) => stagePlatform(platformOf(), folder, root),
  libtorch: (folder) => stageLibtorch(platformOf(), folder, root),
  seekrl: async (folder, out) => {
    await compileTypeScript(root);
    await stageMain(await packedManifests(out), folder, root);
  },
};

/** In MB, what docs/packaging.md promises: nobody is to download more by installing. */
const limits = { libtorch: 120 };

const usage = `usage: npm run pack -- [--out FOLDER] [PART ...]

Builds what has changed and makes tarballs of it in FOLDER, build/pack unless given. Parts, all unless named:
  platform   the addons of this machine's platform
  libtorch   its libraries
  seekrl     all that is no machine code; it names the packages for platforms whose tarballs lie in the folder
  sbom       sbom.cdx.json, what all of them are made of
`;

/** Where the tarballs lie and, once `seekrl` is among them, what installs them. */
function tellNext(out, parts) {
  const shown = /[^\w./-]/.test(out) ? `"${out}"` : out;
  say(`the tarballs lie in ${out}`);
  if (parts.includes("seekrl")) say(`in your project: npm install ${shown}/*.tgz && npx seekrl doctor`);
}

/** Packs parts one after another: the last names those before it. */
async function main() {
  const call = readCall(usage, { out: { type: "string" } });
  if (call === undefined) return;
  const { values, positionals } = call;
  const out = resolve(values.out ?? join(root, "build", "pack"));
  const parts = [...Object.keys(stages), "sbom"];
  const unknown = positionals.find((part) => !parts.includes(part));
  if (unknown !== undefined) throw new SetupError(`${unknown}: expected ${parts.join(", ")} or nothing.`);
  const wanted = parts.filter((part) => positionals.length === 0 || positionals.includes(part));
  await mkdir(out, { recursive: true });
  for (const part of wanted.filter((each) => each !== "sbom")) {
    const folder = join(out, "staged", part);
    await stages[part](folder, out);
    await pack(folder, out, limits[part]);
    await rm(folder, { recursive: true });
  }
  if (wanted.includes("sbom")) await writeSbom(out, root);
  tellNext(out, wanted);
}

await runMain(main);

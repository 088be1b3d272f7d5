/**
 * Assembles what is published into a folder, `build/pack` unless given: `node scripts/pack.mjs [--out FOLDER] [PART ...]`.
 *
 * Parts: `platform` (the addons of this machine's platform), `libtorch` (its libraries), `seekrl` (all that is no machine
 * code, which names the packages for platforms whose tarballs lie in the folder), `sbom` (what all of them are made of); all unless named.
 */
import { mkdir, rm } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { stageLibtorch } from "./pack/libtorch-package.mjs";
import { stageMain } from "./pack/main-package.mjs";
import { stagePlatform } from "./pack/platform-package.mjs";
import { platformOf } from "./pack/platforms.mjs";
import { writeSbom } from "./pack/sbom.mjs";
import { pack, packedManifests } from "./pack/tarball.mjs";
import { runMain, SetupError } from "./setup/report.mjs";

const root = join(dirname(fileURLToPath(import.meta.url)), "..");

const stages = {
  platform: (folder) => stagePlatform(platformOf(), folder, root),
  libtorch: (folder) => stageLibtorch(platformOf(), folder, root),
  seekrl: async (folder, out) => stageMain(await packedManifests(out), folder, root),
};

/** Packs parts one after another: the last names those before it. */
async function main() {
  const { values, positionals } = parseArgs({ options: { out: { type: "string" } }, allowPositionals: true });
  const out = resolve(values.out ?? join(root, "build", "pack"));
  const parts = [...Object.keys(stages), "sbom"];
  const unknown = positionals.find((part) => !parts.includes(part));
  if (unknown !== undefined) throw new SetupError(`${unknown}: expected ${parts.join(", ")} or nothing.`);
  const wanted = parts.filter((part) => positionals.length === 0 || positionals.includes(part));
  await mkdir(out, { recursive: true });
  for (const part of wanted.filter((each) => each !== "sbom")) {
    const folder = join(out, "staged", part);
    await stages[part](folder, out);
    await pack(folder, out);
    await rm(folder, { recursive: true });
  }
  if (wanted.includes("sbom")) await writeSbom(out, root);
}

await runMain(main);

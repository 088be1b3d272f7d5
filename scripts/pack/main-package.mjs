/** Stages `seekrl` itself: what is compiled, its page, worlds and docs; no source, nothing that runs at installation. */
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { SetupError } from "../setup/report.mjs";
import { packageNames, platformNames } from "./platforms.mjs";
import { writeManifest } from "./tarball.mjs";

/** What only a checkout has a use for. */
const omitted = ["scripts", "devDependencies", "files", "private", "gypfile", "binary"];

/** What npm packs whatever `files` says. */
const always = ["CHANGELOG.md", "LICENSE", "README.md"];

/** Not what a removed source left in `dist`. */
function isShipped(root, name) {
  const [, source] = /^dist\/((?:lib|connectors|apps)\/.*)\.(?:js|d\.ts)$/.exec(name) ?? [];
  return source === undefined || existsSync(join(root, `${source}.ts`));
}

/** The manifest of the tarball; `versions` of packages for platforms by name. */
export function shippedManifest(manifest, versions) {
  const kept = Object.entries(manifest).filter(([key]) => !omitted.includes(key));
  return { ...Object.fromEntries(kept), optionalDependencies: versions };
}

/** Refuses what is of another version than is asked for, and is there: whoever installed both could load neither. */
function requireVersion(what, version, expected, asking) {
  if (version === undefined || version === expected) return;
  throw new SetupError(
    `${asking} needs ${what} ${expected}, got ${version}. Remedy: pack both of one build (npm run pack).`,
  );
}

/**
 * Of the packages for platforms those that there are, which a release gathers in one folder before this one.
 *
 * @param packed - their manifests by name
 * @param version - seekrl's
 */
export function optionalVersions(packed, version) {
  const versions = {};
  for (const platform of platformNames) {
    const [addon, libtorch] = [packageNames.platform(platform), packageNames.libtorch(platform)].map(
      (name) => packed[name],
    );
    requireVersion(addon?.name, addon?.version, version, "seekrl");
    if (addon !== undefined)
      requireVersion(`${libtorch?.name} of libtorch`, libtorch?.libtorch, addon.libtorch, addon.name);
    for (const each of [addon, libtorch]) if (each !== undefined) versions[each.name] = each.version;
  }
  return versions;
}

/** Stages the package under `folder`; `packed` are manifests of packages by name. */
export async function stageMain(packed, folder, root) {
  const missing = ["dist/lib/index.js", "dist/studio"].find((part) => !existsSync(join(root, part)));
  if (missing !== undefined) throw new SetupError(`${missing}: not built. Remedy: npm run build.`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  const filter = (path) => isShipped(root, relative(root, path).split(sep).join("/"));
  for (const part of [...always, ...manifest.files])
    await cp(join(root, part), join(folder, part), { recursive: true, filter });
  await writeManifest(folder, shippedManifest(manifest, optionalVersions(packed, manifest.version)));
}

/** Stages `seekrl` itself: what is compiled, its page, worlds and docs; no source, nothing that runs at installation. */
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { SetupError } from "../setup/report.mjs";
import { packageNames, platformNames } from "./platforms.mjs";
import { writeManifest } from "./tarball.mjs";

/** Beside the manifest, from the checkout; tests and sources stay there. */
const parts = [
  ...["bin", "dist/lib", "dist/apps", "dist/studio", "docs", "scripts/setup", "world"],
  ...["CHANGELOG.md", "LICENSE", "NOTICE", "README.md"],
];

/** What only a checkout has a use for. */
const omitted = ["scripts", "devDependencies", "files", "private", "gypfile", "binary"];

/** Neither pages about the project's inside nor what a removed source left in `dist`. */
function isShipped(root, path) {
  const name = relative(root, path).split(sep).join("/");
  if (name === "docs/internals") return false;
  const [, source] = /^dist\/((?:lib|apps)\/.*)\.(?:js|d\.ts)$/.exec(name) ?? [];
  return source === undefined || existsSync(join(root, `${source}.ts`));
}

/** The manifest of the tarball; `versions` of packages for platforms by name. */
export function shippedManifest(manifest, versions) {
  const kept = Object.entries(manifest).filter(([key]) => !omitted.includes(key));
  return { ...Object.fromEntries(kept), optionalDependencies: versions };
}

/** Of the packages for platforms those that there are, which a release gathers in one folder before this one. */
export function optionalVersions(packed) {
  const names = platformNames.flatMap((name) => [packageNames.platform(name), packageNames.libtorch(name)]);
  return Object.fromEntries(names.filter((name) => packed[name]).map((name) => [name, packed[name]]));
}

/** Stages the package under `folder`; `packed` are versions of packages by name. */
export async function stageMain(packed, folder, root) {
  const missing = ["dist/lib/index.js", "dist/studio"].find((part) => !existsSync(join(root, part)));
  if (missing !== undefined) throw new SetupError(`${missing}: not built. Remedy: npm run build.`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  for (const part of parts)
    await cp(join(root, part), join(folder, part), {
      recursive: true,
      filter: (path) => isShipped(root, path),
    });
  const manifest = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
  await writeManifest(folder, shippedManifest(manifest, optionalVersions(packed)));
}

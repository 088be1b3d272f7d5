/** Packages as npm would have installed them, planted into folders of tests. */
import { readFileSync } from "node:fs";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { importScript, projectRoot } from "../project.ts";

interface StampScript {
  writeStamp(folder: string, names: readonly string[], about: object): Promise<void>;
}

/** Writes the stamp of a package over its files, as packing does. */
export const { writeStamp } = (await importScript("scripts/pack/stamp.mjs")) as StampScript;

/** The package for the platform of these tests. */
export const ownPackage = `@seekrl/${process.platform}-${process.arch}`;

/** SeekRL's version. */
export const version = (
  JSON.parse(readFileSync(join(projectRoot, "package.json"), "utf8")) as { version: string }
).version;

/** The libtorch that this checkout was built with. */
export function builtLibtorch(): string {
  const text = readFileSync(join(projectRoot, "build", "libtorch.json"), "utf8");
  return (JSON.parse(text) as { folder: string }).folder;
}

/** Writes a package with a stamp over its files, into a folder `node_modules`. */
export async function plant(
  modules: string,
  name: string,
  files: Readonly<Record<string, string>>,
  about: Readonly<Record<string, unknown>>,
): Promise<string> {
  const folder = join(modules, name);
  await mkdir(join(folder, "lib"), { recursive: true });
  for (const [file, text] of Object.entries(files)) await writeFile(join(folder, file), text);
  await stamp(folder, name, Object.keys(files), about);
  return folder;
}

async function stamp(folder: string, name: string, files: readonly string[], about: object): Promise<void> {
  await writeFile(join(folder, "package.json"), JSON.stringify({ name, version, ...about }));
  await writeStamp(folder, files, { package: name, version, ...about });
}

/** The version of the libtorch that this checkout was built with. */
async function libtorchVersion(): Promise<string> {
  const { versionOf } = (await importScript("scripts/setup/torch-folder.mjs")) as {
    versionOf(folder: string): Promise<string>;
  };
  return versionOf(builtLibtorch());
}

/** This checkout's build as the package of the platform; without libtorch, which SEEKRL_LIBTORCH is to name. */
export async function plantBuild(modules: string): Promise<string> {
  const release = join(projectRoot, "build", "cmake", "Release");
  const folder = join(modules, ownPackage);
  await mkdir(folder, { recursive: true });
  const files = (await readdir(release)).filter((name) => name.endsWith(".node"));
  for (const file of files) await copyFile(join(release, file), join(folder, file));
  await stamp(folder, ownPackage, files, { napi: 8, libtorch: await libtorchVersion() });
  return folder;
}

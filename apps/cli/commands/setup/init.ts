/** `seekrl init`: a project of one's own that runs at once. */
import { existsSync } from "node:fs";
import { cp, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { packageRoot, packageVersion } from "../../../../lib/base/package-root.ts";
import { writeWorldFiles } from "../../../world/world-files.ts";
import { command } from "../../command.ts";

/** The command. */
export const initCommand = command({
  name: "init",
  summary: "writes a project: an agent in TypeScript, its options, a corpus, questions",
  options: z.strictObject({
    folder: z.string().describe("folder of the project, which is empty or not there yet"),
  }),
  places: ["folder"],
  run: async ({ folder }, io) => {
    const target = resolve(folder);
    await requireEmpty(target, folder);
    // Above a folder that is there one need not be allowed to write.
    const writing = existsSync(target) ? join(target, writingName) : `${target}${writingName}`;
    try {
      await writeProject(writing, target);
      await requireEmpty(target, folder);
      await moveInto(writing, target);
    } finally {
      await rm(writing, { recursive: true, force: true });
    }
    const enter = target === process.cwd() ? "" : `cd ${folder} && `;
    io.write(`${folder} is a project. Next: ${enter}npm install && npm start\n`);
    io.result({ folder: target });
  },
});

const writingName = `.${process.pid}.writing`;

/** Refuses a folder with anything but an empty repository of git, as nothing is to be written over. */
async function requireEmpty(target: string, folder: string): Promise<void> {
  const names = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return [];
    if (error.code === "ENOTDIR") return [""];
    throw error;
  });
  const other = names.find((name) => name !== ".git" && name !== writingName);
  if (other === undefined) return;
  const found = other === "" ? "a file" : other;
  throw new SeekError(
    "ERR_ARGUMENT",
    `init: ${folder}: expected a folder that is empty or not there yet, found ${found}. Remedy: another name`,
  );
}

/** A project that was written whole takes its name, or goes file by file into the folder that has it. */
async function moveInto(writing: string, target: string): Promise<void> {
  if (dirname(writing) !== target) return rename(writing, target);
  for (const name of await readdir(writing)) await rename(join(writing, name), join(target, name));
}

/** Writes the files into a folder that will have another name. */
async function writeProject(writing: string, target: string): Promise<void> {
  const starter = join(packageRoot, "starter");
  await cp(starter, writing, { recursive: true });
  // npm leaves files of that name out of packages.
  await rename(join(writing, "gitignore"), join(writing, ".gitignore"));
  const path = join(writing, "package.json");
  const parts = JSON.parse(await readFile(path, "utf8")) as object;
  const whole = { name: packageName(target), ...parts, dependencies: await requirements(target) };
  await writeFile(path, `${JSON.stringify(whole, undefined, 2)}\n`);
  await writeWorldFiles(join(writing, "data"), { seed: 0 });
}

/** A name that npm allows, after the folder's. */
function packageName(target: string): string {
  const name = basename(target)
    .toLowerCase()
    .replace(/[^a-z0-9._-]+/g, "-")
    .replace(/^[._-]+/, "");
  return name === "" || name === "seekrl" || name === "node_modules" ? "search-agent" : name;
}

/** A folder and those above it, from the inside out. */
function withParents(folder: string): string[] {
  const parent = dirname(folder);
  return parent === folder ? [folder] : [folder, ...withParents(parent)];
}

/** What a folder's package.json asks for of this package's parts. */
async function askedIn(root: string): Promise<readonly (readonly [string, string])[]> {
  const text = await readFile(join(root, "package.json"), "utf8").catch(() => "{}");
  const { dependencies = {} } = JSON.parse(text) as { dependencies?: Record<string, string> };
  return Object.entries(dependencies).filter(([name]) => /^(@seekrl\/|seekrl$)/.test(name));
}

/** This package, as the project that installed it asks for it; by its folder where it is a clone. */
async function requirements(target: string): Promise<Record<string, string>> {
  const modules = dirname(packageRoot);
  if (basename(modules) !== "node_modules") return { seekrl: `file:${relative(target, packageRoot)}` };
  let root = dirname(modules);
  let own = await askedIn(root);
  // pnpm keeps packages in a store of the project: it is called in the project, or below it.
  for (const folder of withParents(process.cwd()))
    if (own.length === 0) [root, own] = [folder, await askedIn(folder)];
  // Tarballs lie where that project says, seen from it.
  const moved = (wish: string): string =>
    wish.startsWith("file:") ? `file:${relative(target, resolve(root, wish.slice("file:".length)))}` : wish;
  return {
    seekrl: `^${packageVersion()}`,
    ...Object.fromEntries(own.map(([name, wish]) => [name, moved(wish)])),
  };
}

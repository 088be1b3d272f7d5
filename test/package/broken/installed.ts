/** An installation out of this checkout: seekrl with its platform's package, real files, for tests to break. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { projectRoot } from "../../project.ts";
import { builtLibtorch, ownPackage, plantBuild, version } from "../planted.ts";

/** Removed when the file's tests are over. */
export const scratch = await mkdtemp(join(tmpdir(), "seekrl-installed-"));
after(() => rm(scratch, { recursive: true }));

/** The program that an installation is tried by: the first call that needs the addon, then the command line, then the doctor. */
const program = `
const [root, out] = process.argv.slice(2);
const { native } = await import(root + "/dist/lib/base/addon/native.js");
const { main } = await import(root + "/dist/apps/cli/main.js");
try { native(); console.log("called: runs"); } catch ({ name, code, message }) {
  console.log("called: " + name + " " + code + ": " + message);
}
const { signal } = new AbortController();
const call = (...args) => main(args, { signal });
console.log("exit: " + await call("index", "build", "--corpus", out + "/corpus.jsonl", "--out", out + "/index"));
console.log("doctor: " + await call("doctor"));
`;

/** What an installation says of itself. */
export interface Said {
  /** The error of the first call, `SeekError CODE: MESSAGE`; or `runs`. */
  readonly called: string;
  readonly exit: number;
  /** What the command line said on standard error. */
  readonly stderr: string;
  /** The doctor's word on the processor. */
  readonly doctor: string;
  readonly doctorExit: number;
}

/** A project that has installed seekrl. */
export interface Installed {
  readonly modules: string;
  /** Of the platform's package. */
  readonly platform: string;
  /** Tries it, with other variables, and with a module that Node runs first. */
  run(env?: Readonly<Record<string, string | undefined>>, first?: string): Promise<Said>;
}

const home = join(scratch, "home");
const modules = join(home, "node_modules");
const root = join(modules, "seekrl");
const platform = join(modules, ownPackage);

async function plantSeekrl(): Promise<void> {
  for (const part of ["dist/lib", "dist/connectors", "dist/apps", "scripts/setup"])
    await cp(join(projectRoot, part), join(root, part), { recursive: true });
  await symlink(join(projectRoot, "node_modules"), join(root, "node_modules"));
  const optionalDependencies = { [ownPackage]: version };
  const manifest = { name: "seekrl", version, type: "module", optionalDependencies };
  await writeFile(join(root, "package.json"), JSON.stringify(manifest));
  await writeFile(join(home, "run.mjs"), program);
  await writeFile(join(home, "corpus.jsonl"), '{"id":"1","contents":"A museum in Paris."}\n');
}

await plantSeekrl();

const run: Installed["run"] = async (env = {}, first = "") => {
  await rm(join(home, "index"), { recursive: true, force: true });
  await writeFile(join(home, "first.mjs"), first);
  const args = ["--import", join(home, "first.mjs"), join(home, "run.mjs"), root, home];
  // No compiler and no GPU: looking for them takes the doctor's time.
  const own = { PATH: home, SEEKRL_LIBTORCH: builtLibtorch(), SEEKRL_CACHE: join(home, "cache") };
  const options = { env: { ...process.env, ...own, ...env } };
  const { stdout, stderr } = await new Promise<{ stdout: string; stderr: string }>((resolve) =>
    execFile(process.execPath, args, options, (_, stdout, stderr) => resolve({ stdout, stderr })),
  );
  const word = (name: string) => new RegExp(`^${name} *(.*)$`, "m").exec(stdout)?.[1] ?? "";
  return {
    called: word("called:"),
    exit: Number(word("exit:")),
    stderr,
    doctor: word("cpu"),
    doctorExit: Number(word("doctor:")),
  };
};

/** Installs anew, over what was there; libtorch is the one that this checkout was built with. */
export async function installed(): Promise<Installed> {
  await rm(join(modules, "@seekrl"), { recursive: true, force: true });
  await plantBuild(modules);
  return { modules, platform, run };
}

/** One error of a call, the same of a command, without a stack; and the doctor names it too. */
export async function refused(
  { run }: Installed,
  code: string,
  message: RegExp,
  ...how: Parameters<Installed["run"]>
): Promise<void> {
  const { called, exit, stderr, doctor, doctorExit } = await run(...how);
  assert.match(called, new RegExp(`^SeekError ${code}: .*${message.source}.*Remedy: `));
  assert.equal(stderr, `${called.slice("SeekError ".length)}\n`);
  assert.deepEqual([exit, doctorExit], [1, 1]);
  assert.equal(doctor, called.slice(`SeekError ${code}: `.length));
}

const isLinux = process.platform === "linux" && process.arch === "x64";

/** Why these tests do not run here. */
export const skip = isLinux ? false : "what is broken here is broken as on Linux for x86-64";

/** A project of somebody who has Node and nothing else: installs from a registry and runs what the README shows first. */
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdir, readdir, rm, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { SetupError, step } from "../../setup/report.mjs";

const run = promisify(execFile);

/** In the path of such a machine: Node, the shell that package managers call programs with, and what that needs. */
const programs = ["sh", "env", "sed", "dirname", "uname", "basename"];

/** A folder with Node and a shell, no compiler, no CMake, no Python, as the only one in the path. */
async function barePath(folder, node) {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await symlink(node, join(folder, "node"));
  for (const name of programs) {
    const path = ["/usr/bin", "/bin"].map((each) => join(each, name)).find((each) => existsSync(each));
    if (path !== undefined) await symlink(path, join(folder, name));
  }
  return folder;
}

/** Bytes of all files below a folder. */
async function bytesBelow(folder) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map((entry) => stat(join(entry.parentPath, entry.name))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

const importing = `
const { SeekError } = await import("seekrl");
const { buildIndex, openIndex } = await import("seekrl/search");
await buildIndex({ corpus: [{ id: "1", title: "Louvre", text: "A museum in Paris." }], out: "index" });
const index = await openIndex("index");
const [hits] = await index(["museum"], { topK: 1 });
if (hits[0]?.id !== "1" && hits[0]?.passage?.id !== "1") throw new Error(JSON.stringify(hits));
index.close();
console.log(typeof SeekError);
`;

/** Installs with one package manager into a fresh folder and uses what came; says how long each took. */
export async function consume(name, manager, { folder, url, node }) {
  const home = join(folder, "home");
  const project = join(folder, "project");
  await rm(folder, { recursive: true, force: true });
  await mkdir(project, { recursive: true });
  await mkdir(home, { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true }));
  await writeFile(join(project, "import.mjs"), importing);
  const env = {
    PATH: await barePath(join(folder, "bin"), node),
    HOME: home,
    SEEKRL_CACHE: join(home, "seekrl"),
    ...manager.variables(url, home),
  };
  const seconds = {};
  const call = async (what, args) => {
    const start = performance.now();
    const options = { cwd: project, env, maxBuffer: 1 << 26 };
    const { stdout, stderr } = await step(`${name}: ${what}`, () => run(node, args, options)).catch(
      (error) => {
        throw new SetupError(
          `${name}: ${what} failed:\n${error.stdout ?? ""}${error.stderr ?? error.message}`,
        );
      },
    );
    seconds[what] = (performance.now() - start) / 1000;
    return stdout + stderr;
  };
  await call("install", manager.install);
  await call("import", ["import.mjs"]);
  const doctor = await call("doctor", [...manager.exec, "seekrl", "doctor", "--device", "cpu"]);
  if (!/scored with the same bits/.test(doctor)) throw new SetupError(`${name}: doctor said\n${doctor}`);
  await call("demo --quick", [...manager.exec, "seekrl", "demo", "--quick", "--out", "demo"]);
  return { name, seconds, bytes: await bytesBelow(project) };
}

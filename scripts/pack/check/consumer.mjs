/** A project of somebody who has Node and nothing else: installs from a registry, runs what the README shows first, begins a project. */
import { mkdir, readdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { SetupError, step } from "../../setup/report.mjs";
import { managersIn } from "./managers.mjs";

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
if (typeof SeekError !== "function") throw new Error(typeof SeekError);
const { glibcVersionRuntime } = process.report.getReport().header;
console.log(JSON.stringify({ node: process.versions.node, glibc: glibcVersionRuntime }));
`;

/** A fresh project of somebody's, with a home of its own. */
async function makeProject(folder) {
  const [home, project] = [join(folder, "home"), join(folder, "project")];
  await rm(folder, { recursive: true, force: true });
  for (const each of [home, project]) await mkdir(each, { recursive: true });
  await writeFile(join(project, "package.json"), JSON.stringify({ name: "consumer", private: true }));
  await writeFile(join(project, "import.mjs"), importing);
  return { home, project };
}

/**
 * Installs with one package manager into a fresh folder and uses what came; says how long each took, and on what it ran.
 *
 * @param name - the manager's
 * @param where - `machine` that runs commands, `tools` with package managers, `folder` to make, `url` of the registry, `node`
 */
export async function consume(name, { machine, tools, folder, url, node }) {
  const { home, project } = await makeProject(folder);
  const bin = join(folder, "bin");
  const path = await machine.makePath(bin, node);
  const own = join(bin, "node");
  const manager = managersIn(tools, own)[name];
  const env = {
    PATH: path,
    HOME: home,
    SEEKRL_CACHE: join(home, "seekrl"),
    STEPS: "3",
    ...manager.variables(url, home),
  };
  const seconds = {};
  const call = async (what, command, cwd = project) => {
    const start = performance.now();
    const running = () => machine.run(command, { cwd, env });
    const { stdout, stderr } = await step(`${name}: ${what}`, running).catch((error) => {
      throw new SetupError(`${name}: ${what} failed:\n${error.stdout ?? ""}${error.stderr ?? error.message}`);
    });
    seconds[what] = (performance.now() - start) / 1000;
    return { stdout, said: stdout + stderr };
  };
  await call("install", manager.add);
  const system = JSON.parse((await call("import", [own, "import.mjs"])).stdout);
  const { said } = await call("doctor", [...manager.exec, "seekrl", "doctor", "--device", "cpu"]);
  if (!/scored with the same bits/.test(said)) throw new SetupError(`${name}: doctor said\n${said}`);
  await call("demo", [...manager.exec, "seekrl", "demo", "--quick", "--out", "demo"]);
  const begun = join(folder, "begun");
  await call("init", [...manager.exec, "seekrl", "init", begun]);
  await call("its install", manager.install, begun);
  const { stdout: trained } = await call("its start", [...manager.script, "start"], begun);
  if (!/^answer: /m.test(trained)) throw new SetupError(`${name}: npm start of the project said\n${trained}`);
  return { ...system, seconds, bytes: await bytesBelow(project) };
}

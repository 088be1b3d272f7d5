/** A registry on this machine alone: it holds what is published to it, and passes other packages on from the usual one. */
import { execFile, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { cp, mkdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { SetupError, say, step } from "../../setup/report.mjs";
import { publishAll } from "../publish.mjs";

const run = promisify(execFile);
const own = join(dirname(fileURLToPath(import.meta.url)), "tools");

/** Installs the registry's program and the package managers, as their lock file names them; into a folder. */
export async function installTools(folder) {
  await mkdir(folder, { recursive: true });
  const lock = (at) => readFile(join(at, "package-lock.json"), "utf8").catch(() => undefined);
  if (existsSync(join(folder, "node_modules")) && (await lock(folder)) === (await lock(own)))
    return join(folder, "node_modules");
  await cp(join(own, "package.json"), join(folder, "package.json"));
  await cp(join(own, "package-lock.json"), join(folder, "package-lock.json"));
  const args = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
  await step("installed the registry and package managers", () => run("npm", args, { cwd: folder }));
  return join(folder, "node_modules");
}

function freePort() {
  return new Promise((done, fail) => {
    const server = createServer();
    server.on("error", fail);
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => done(port));
    });
  });
}

const config = (upstream) => `
storage: ./storage
uplinks:
  usual:
    url: ${upstream}
packages:
  "seekrl":
    access: $all
    publish: $all
  "@seekrl/*":
    access: $all
    publish: $all
  "**":
    access: $all
    proxy: usual
max_body_size: 500mb
log: { type: stdout, format: pretty, level: warn }
`;

/** Starts it; `url` is where, `end()` stops it. */
export async function startRegistry(folder, tools) {
  await mkdir(folder, { recursive: true });
  const { stdout } = await run("npm", ["config", "get", "registry"]);
  await writeFile(join(folder, "config.yaml"), config(stdout.trim()));
  const port = await freePort();
  const program = join(tools, "verdaccio", "bin", "verdaccio");
  const args = [program, "--config", join(folder, "config.yaml"), "--listen", `127.0.0.1:${port}`];
  const child = spawn(process.execPath, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.on("data", (chunk) => {
      said += chunk;
    });
  const url = `http://127.0.0.1:${port}/`;
  while (!(await fetch(`${url}-/ping`).catch(() => undefined))?.ok) {
    if (child.exitCode !== null) throw new SetupError(`the registry did not start:\n${said}`);
    await wait(100);
  }
  say(`registry: ${url}`);
  return { url, end: () => child.kill() };
}

/** Publishes tarballs to it. It asks for no name, npm for a token. */
export async function publish(url, tarballs) {
  const token = `--${url.replace("http:", "")}:_authToken=anyone`;
  await publishAll(tarballs, { registry: ["--registry", url, token] });
}

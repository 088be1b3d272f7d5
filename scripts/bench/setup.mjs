/** Sets up what peers need, each in a cache folder of its own kind: a virtual environment of Python, folders of npm. */
import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { needs, withRequired } from "./needs.mjs";

/** The oldest Python that the pinned packages run on. */
const oldestPython = [3, 11];

const wantedPython = `Python ${oldestPython.join(".")} or later with venv`;

const isWindows = process.platform === "win32";

/** Only folders that were made whole are used again: this file is written last, and says what is there. */
const markerOf = (folder, name) => join(folder, `.has-${name}`);

function isThere(folder, name, wanted) {
  const marker = markerOf(folder, name);
  return existsSync(marker) && readFileSync(marker, "utf8") === wanted;
}

/** The interpreter of the virtual environment, made when it is missing. */
async function openPython(folder, { run, env }) {
  const base = env.SEEKRL_PYTHON ?? "python3";
  const asked = run(base, ["-c", "import sys; print('%d.%d' % sys.version_info[:2])"]);
  const version = (
    await asked.catch((error) => {
      if (error.cause?.code !== "ENOENT") throw error;
      throw new Error(`needs ${wantedPython}, ${base} is not there; SEEKRL_PYTHON names one`);
    })
  ).stdout.trim();
  const [major, minor] = version.split(".").map(Number);
  if (major < oldestPython[0] || (major === oldestPython[0] && minor < oldestPython[1]))
    throw new Error(`needs ${wantedPython}, ${base} is ${version}; SEEKRL_PYTHON names another`);
  const home = join(folder, `python-${version}`);
  const python = join(home, isWindows ? "Scripts" : "bin", isWindows ? "python.exe" : "python");
  if (!isThere(home, "venv", version)) {
    await run(base, ["-m", "venv", "--clear", home]);
    await writeFile(markerOf(home, "venv"), version);
  }
  return { home, python, version };
}

async function installPip({ home, python }, name, { run, say }) {
  const { pip, fallbackIndex } = needs[name];
  const wanted = pip.join(" ");
  if (pip.length === 0 || isThere(home, name, wanted)) return;
  say(`installing ${wanted}`);
  const install = [...["-m", "pip", "install", "--disable-pip-version-check", "--no-input"], ...pip];
  await run(python, install).catch((error) => {
    if (fallbackIndex === undefined) throw error;
    return run(python, [...install, "--extra-index-url", fallbackIndex]);
  });
  await writeFile(markerOf(home, name), wanted);
}

/** Without the files that go beyond an instruction set to which all is held. */
async function installNpm(folder, name, { run, say, hold }) {
  const { npm, npmOptions = [] } = needs[name];
  const wanted = JSON.stringify({ private: true, dependencies: npm });
  const digest = createHash("sha256").update(wanted).digest("hex").slice(0, 8);
  const home = join(folder, [name, digest, ...(hold === undefined ? [] : [hold.isa])].join("-"));
  if (isThere(home, name, wanted)) return home;
  say(
    `installing ${Object.entries(npm)
      .map((entry) => entry.join("@"))
      .join(" ")}`,
  );
  await mkdir(home, { recursive: true });
  await writeFile(join(home, "package.json"), wanted);
  // Scripts of packages would fetch libraries for GPUs, or compile.
  const options = ["--ignore-scripts", "--no-audit", "--no-fund", ...npmOptions];
  await run("npm", ["install", ...options], { cwd: home });
  for (const file of hold === undefined ? [] : await readdir(home, { recursive: true }))
    if (hold.beyond.test(file)) await rm(join(home, file));
  await writeFile(markerOf(home, name), wanted);
  return home;
}

/**
 * Makes everything that pairs need, one after the other; what cannot be had is noted with its reason, and the rest goes on.
 *
 * @param names needs, as needs.mjs names them
 * @returns the interpreter, the folder of each need of npm, why others are missing
 */
export async function setUp(names, { folder, run, say, signal, hold, env = process.env }) {
  const place = { python: undefined, homes: {}, missing: {} };
  let venv;
  for (const name of withRequired(names)) {
    const first = (needs[name].after ?? []).find((each) => place.missing[each] !== undefined);
    try {
      if (first !== undefined) throw new Error(`needs ${first}, which could not be set up`);
      if (needs[name].pip !== undefined) {
        venv ??= openPython(folder, { run, env });
        place.python = (await venv).python;
        await installPip(await venv, name, { run, say });
      } else if (needs[name].npm !== undefined)
        place.homes[name] = await installNpm(folder, name, { run, say, hold });
      else import.meta.resolve(needs[name].ours);
    } catch (error) {
      if (signal?.aborted) throw error;
      place.missing[name] = error.message;
      say(`${name} could not be set up: ${error.message}`);
    }
  }
  return place;
}

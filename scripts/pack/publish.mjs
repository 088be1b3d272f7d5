/** Publishes tarballs: packages for platforms first, `seekrl`, which names them, last; what is there already, byte by byte, is left out. */
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { SetupError, say } from "../setup/report.mjs";
import { manifestOf } from "./tarball.mjs";

const run = promisify(execFile);

/** What npm says of a version's bytes: its SHA-512 in base64; empty where it has none. */
async function publishedIntegrity({ name, version }, args) {
  const view = ["view", `${name}@${version}`, "dist.integrity", ...args];
  return run("npm", view).then(
    ({ stdout }) => stdout.trim(),
    ({ stderr }) => {
      if (/E404/.test(stderr)) return "";
      throw new Error(stderr);
    },
  );
}

/**
 * Whether npm has a version: libtorch's packages keep theirs over releases of seekrl, and a release that broke off is given again.
 *
 * @throws a SetupError where npm's has other bytes, which stay what is installed
 */
async function isPublished({ path, name, version }, args) {
  const there = await publishedIntegrity({ name, version }, args);
  if (there === "") return false;
  const own = `sha512-${createHash("sha512")
    .update(await readFile(path))
    .digest("base64")}`;
  if (there === own) return true;
  throw new SetupError(
    `${name}@${version}: npm has ${there}, ${path} is ${own}, and npm never takes a version twice. Remedy: another version, ` +
      "or the tarballs of the run that published this one (its failed jobs can be run again).",
  );
}

/**
 * Publishes them in their order, and stops at the first that is refused; none is published before all are known to be new or the same.
 *
 * @param paths - of tarballs
 * @param args - of every call of npm (`registry`), and of `npm publish` alone (`publish`)
 */
export async function publishAll(paths, { registry = [], publish = [] }) {
  const found = await Promise.all(paths.map(async (path) => ({ path, ...(await manifestOf(path)) })));
  const rank = ({ name }) => (name === "seekrl" ? 1 : 0);
  const missing = [];
  for (const each of found.sort((a, b) => rank(a) - rank(b)))
    if (await isPublished(each, registry)) say(`${each.name}@${each.version} is published already`);
    else missing.push(each);
  for (const { path, name, version } of missing) {
    // What is not finished is not what `npm install` brings.
    const tag = version.includes("-") ? ["--tag", "next"] : [];
    await run("npm", ["publish", path, "--ignore-scripts", ...tag, ...registry, ...publish], {
      maxBuffer: 1 << 26,
    });
    say(`${name}@${version} published`);
  }
}

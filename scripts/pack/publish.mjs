/** Publishes tarballs: packages for platforms first, `seekrl`, which names them, last; what is there already is left out. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { say } from "../setup/report.mjs";
import { manifestOf } from "./tarball.mjs";

const run = promisify(execFile);

/** libtorch keeps its version over releases of seekrl, and a release that broke off is given again. */
async function isPublished({ name, version }, args) {
  const view = ["view", `${name}@${version}`, "version", ...args];
  return run("npm", view).then(
    ({ stdout }) => stdout.trim() === version,
    ({ stderr }) => {
      if (/E404/.test(stderr)) return false;
      throw new Error(stderr);
    },
  );
}

/**
 * Publishes them in their order, and stops at the first that is refused.
 *
 * @param paths - of tarballs
 * @param args - of every call of npm (`registry`), and of `npm publish` alone (`publish`)
 */
export async function publishAll(paths, { registry = [], publish = [] }) {
  const found = await Promise.all(paths.map(async (path) => ({ path, ...(await manifestOf(path)) })));
  const rank = ({ name }) => (name === "seekrl" ? 1 : 0);
  for (const { path, name, version } of found.sort((a, b) => rank(a) - rank(b))) {
    if (await isPublished({ name, version }, registry)) say(`${name}@${version} is published already`);
    else {
      // What is not finished is not what `npm install` brings.
      const tag = version.includes("-") ? ["--tag", "next"] : [];
      await run("npm", ["publish", path, "--ignore-scripts", ...tag, ...registry, ...publish], {
        maxBuffer: 1 << 26,
      });
      say(`${name}@${version} published`);
    }
  }
}

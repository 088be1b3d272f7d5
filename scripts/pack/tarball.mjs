/** Makes the tarball that npm would publish of a folder. */
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { bytesText, SetupError, say } from "../setup/report.mjs";

const run = promisify(execFile);

/** What is alike in every manifest. */
const common = {
  license: "Apache-2.0",
  engines: { node: ">=20.19" },
  // Yarn would leave the files in an archive, out of which no library can be loaded.
  preferUnplugged: true,
};

/** Where a package comes from, in the workflow that publishes it: npm refuses provenance without. */
export function origin({ GITHUB_REPOSITORY: name } = process.env) {
  if (name === undefined) return {};
  const page = `https://github.com/${name}`;
  return {
    repository: { type: "git", url: `git+${page}.git` },
    homepage: `${page}#readme`,
    bugs: { url: `${page}/issues` },
  };
}

/** Writes package.json, whose `files` are all that was staged. */
export async function writeManifest(folder, manifest) {
  await mkdir(folder, { recursive: true });
  await writeFile(
    join(folder, "package.json"),
    `${JSON.stringify({ ...common, ...origin(), ...manifest }, null, 2)}\n`,
  );
}

/** Beside tarballs, the list of what they are made of. */
export const sbomName = "sbom.cdx.json";

/**
 * Packs a staged folder into `out`, and says how large it came out.
 *
 * @throws a SetupError, without a tarball, above a limit in MB
 */
export async function pack(folder, out, limitMb = Number.POSITIVE_INFINITY) {
  await mkdir(out, { recursive: true });
  // It has the digests of those before.
  await rm(join(out, sbomName), { force: true });
  const args = ["pack", "--ignore-scripts", "--json", "--pack-destination", out, folder];
  const { stdout } = await run("npm", args, { maxBuffer: 1 << 26 });
  const [{ filename, unpackedSize, entryCount }] = JSON.parse(stdout);
  const bytes = (await stat(join(out, filename))).size;
  if (bytes > limitMb * 1e6) {
    await rm(join(out, filename));
    throw new SetupError(
      `${filename}: expected at most ${limitMb} MB, got ${bytesText(bytes)}. Remedy: pack fewer or smaller files, or raise the limit in ` +
        "scripts/pack.mjs and docs/packaging.md.",
    );
  }
  say(`${filename}: ${bytesText(bytes)} packed, ${bytesText(unpackedSize)} unpacked, ${entryCount} files`);
}

/** Texts of files in a tarball, which is read once for all of them, by name. */
export async function textsIn(path, names) {
  if (names.length === 0) return new Map();
  const folder = await mkdtemp(join(tmpdir(), "seekrl-unpacked-"));
  try {
    await run("tar", ["-xf", path, "-C", folder, ...names.map((name) => `package/${name}`)]);
    const read = async (name) => [name, await readFile(join(folder, "package", name), "utf8")];
    return new Map(await Promise.all(names.map(read)));
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** A JSON file in a tarball. */
export async function jsonIn(path, name) {
  const { stdout } = await run("tar", ["-xOf", path, `package/${name}`]);
  return JSON.parse(stdout);
}

/** The manifest in a tarball. */
export const manifestOf = (path) => jsonIn(path, "package.json");

/** Names of the files in a tarball. */
export async function namesIn(path) {
  const { stdout } = await run("tar", ["-tf", path], { maxBuffer: 1 << 26 });
  return stdout.split("\n").map((name) => name.replace(/^package\//, ""));
}

async function packedIn(folder) {
  const names = (await readdir(folder).catch(() => [])).filter((name) => name.endsWith(".tgz"));
  return names.sort().map((name) => join(folder, name));
}

/** Paths of the tarballs in a folder; one without any is refused. */
export async function tarballsIn(folder) {
  const paths = await packedIn(folder);
  if (paths.length === 0) throw new SetupError(`${folder}: no tarball. Remedy: npm run pack.`);
  return paths;
}

/** Manifests by name of the packages whose tarballs lie in a folder, which may have none. */
export async function packedManifests(folder) {
  const manifests = {};
  for (const path of await packedIn(folder)) {
    const manifest = await manifestOf(path);
    const { name, version } = manifest;
    if (manifests[name] !== undefined)
      throw new SetupError(
        `${folder}: ${name} in versions ${manifests[name].version} and ${version}. Remedy: remove the tarball that is not meant.`,
      );
    manifests[name] = manifest;
  }
  return manifests;
}

/** Writes what a release is made of (CycloneDX 1.5): packages as npm lists them, and what is compiled into machine code and page. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sha256Of } from "../setup/digest.mjs";
import { SetupError, say } from "../setup/report.mjs";
import { addonParts, cudaPart, pageParts } from "./licences/third-party.mjs";
import { jsonIn, manifestOf, namesIn, packedManifests, sbomName, tarballsIn } from "./tarball.mjs";

const run = promisify(execFile);

/** CycloneDX takes names that SPDX does not know as names. */
function license(text) {
  if (/ (AND|OR|WITH) /.test(text)) return [{ expression: text }];
  return [{ license: /[\s/]/.test(text) ? { name: text } : { id: text } }];
}

/** What `npm install` of a release brings, as `name@version`. npm's own `--omit dev` forgets what development needs as well. */
async function installed(root) {
  const { packages } = JSON.parse(await readFile(join(root, "package-lock.json"), "utf8"));
  const rows = Object.entries(packages).filter(([path, { dev }]) => path !== "" && !dev);
  return new Set(rows.map(([path, { version }]) => `${path.split("node_modules/").at(-1)}@${version}`));
}

/** npm's list of these. */
async function npmList(root) {
  const args = ["sbom", "--package-lock-only", "--sbom-format", "cyclonedx"];
  const { stdout } = await run("npm", args, { cwd: root, maxBuffer: 1 << 26 });
  const { components, dependencies, ...rest } = JSON.parse(stdout);
  const wanted = await installed(root);
  const isWanted = (reference) => wanted.has(reference);
  const [own, ...others] = dependencies;
  return {
    ...rest,
    components: components.filter(({ name, version }) => isWanted(`${name}@${version}`)),
    dependencies: [own, ...others.filter(({ ref }) => isWanted(ref))].map(({ ref, dependsOn }) => ({
      ref,
      dependsOn: dependsOn.filter(isWanted),
    })),
  };
}

/** What SPDX calls by other names, or does not know. */
const terms = {
  libgomp: "GPL-3.0-only WITH GCC-exception-3.1",
  libomp: "Apache-2.0 WITH LLVM-exception",
  onemkl: "Intel Simplified Software License",
};

/** What libtorch's libraries contain, as far as its licences tell: names, and where the licence stands. */
async function torchParts(path) {
  const folders = (await namesIn(path)).map((name) => /^licenses\/((?:third_party\/)?([^/]+))\//.exec(name));
  const found = new Map(folders.filter(Boolean).map(([, folder, name]) => [name, folder]));
  found.delete("third_party");
  return [...found].map(([name, folder]) => ({ name, license: terms[name] ?? `licenses/${folder}` }));
}

/** What of others is in a tarball. */
async function partsIn(path, { name }, root) {
  if (name === "seekrl") return pageParts(root);
  if (name.startsWith("@seekrl/libtorch-")) return torchParts(path);
  const { kernels } = await jsonIn(path, "stamp.json");
  return [...(await addonParts(root)), ...(kernels === undefined ? [] : [cudaPart(kernels)])];
}

const referenceTo = ({ name, version }) => (version === undefined ? name : `${name}@${version}`);

/** A part that no package manager lists. */
function partComponent({ name, version, license: id, url, text }) {
  // Of those with a text it is npm's package.
  const purl = `pkg:${text === undefined ? "generic" : "npm"}/${referenceTo({ name, version })}`;
  const links = url === undefined ? {} : { externalReferences: [{ type: "license", url }] };
  const what = { "bom-ref": referenceTo({ name, version }), type: "library", name, version, purl };
  return { ...what, licenses: license(id), ...links };
}

/** A tarball: its component with its digest, its parts, and all that it needs. */
async function packedIn(path, root, packed) {
  const manifest = await manifestOf(path);
  const { name, version, license: id, libtorch } = manifest;
  const parts = (await partsIn(path, manifest, root)).map(partComponent);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const what = {
    "bom-ref": referenceTo(manifest),
    type: "library",
    name,
    version,
    purl,
    licenses: license(id),
  };
  const hashes = [{ alg: "SHA-256", content: await sha256Of(path) }];
  const asked = { ...manifest.optionalDependencies };
  const beside = libtorch && packed[name.replace("/", "/libtorch-")];
  if (beside) asked[beside.name] = beside.version;
  const needed = Object.entries(asked).map(([each, at]) => referenceTo({ name: each, version: at }));
  const dependsOn = [...parts.map((part) => part["bom-ref"]), ...needed];
  return { component: { ...what, hashes }, parts, dependsOn };
}

/** Adds tarballs and their parts to npm's list, `seekrl` as what the list is about. */
function addPacked(sbom, packed) {
  const { component: about } = sbom.metadata;
  const [own] = sbom.dependencies;
  // npm calls a clone by its folder's name, and it is the clone that is private.
  about.name = "seekrl";
  delete about.properties;
  const components = new Map(sbom.components.map((each) => [each["bom-ref"], each]));
  for (const { component, parts, dependsOn } of packed) {
    if (component.name === "seekrl") {
      about.hashes = component.hashes;
      own.dependsOn.push(...dependsOn);
    } else {
      components.set(component["bom-ref"], component);
      sbom.dependencies.push({ ref: component["bom-ref"], dependsOn });
    }
    for (const part of parts) components.set(part["bom-ref"], part);
  }
  sbom.components = [...components.values()];
  const named = (reference) => components.has(reference);
  for (const row of sbom.dependencies) row.dependsOn = row.dependsOn.filter(named);
}

/** Writes `sbom.cdx.json` beside the tarballs of `out`, which it names. */
export async function writeSbom(out, root) {
  const sbom = await npmList(root);
  const packed = await packedManifests(out);
  addPacked(sbom, await Promise.all((await tarballsIn(out)).map((path) => packedIn(path, root, packed))));
  await writeFile(join(out, sbomName), `${JSON.stringify(sbom, null, 2)}\n`);
  say(`${sbomName}: ${sbom.components.length} components`);
}

/** Throws a SetupError for a tarball that the list beside it does not name, or names with another digest. */
export async function requireListed(folder) {
  const text = await readFile(join(folder, sbomName), "utf8").catch(() => undefined);
  if (text === undefined) throw new SetupError(`${folder}: no ${sbomName}. Remedy: npm run pack -- sbom.`);
  const { components, metadata } = JSON.parse(text);
  const listed = new Map([metadata.component, ...components].map((each) => [each["bom-ref"], each.hashes]));
  for (const path of await tarballsIn(folder)) {
    const [hash] = listed.get(referenceTo(await manifestOf(path))) ?? [];
    const digest = await sha256Of(path);
    if (hash?.content !== digest)
      throw new SetupError(
        `${path}: ${sbomName} lists it with SHA-256 ${hash?.content ?? "none"}, got ${digest}. Remedy: npm run pack -- sbom.`,
      );
  }
}

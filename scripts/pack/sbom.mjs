/** Writes what a release is made of (CycloneDX 1.5): packages as npm lists them, and what is compiled into machine code and page. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { sha256Of } from "../setup/digest.mjs";
import { SetupError, say } from "../setup/report.mjs";
import { addonParts, cudaPart, pageParts } from "./licences/third-party.mjs";
import { torchParts } from "./licences/torch-parts.mjs";
import { jsonIn, manifestOf, packedManifests, sbomName, tarballsIn } from "./tarball.mjs";

const run = promisify(execFile);

/** CycloneDX takes names that SPDX does not know as names. */
function license(text) {
  if (/ (AND|OR|WITH) /.test(text)) return [{ expression: text }];
  return [{ license: text.startsWith("LicenseRef-") ? { name: text } : { id: text } }];
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

/** What of others is in a tarball. */
async function partsIn(path, { name, libtorch }, root) {
  if (name === "seekrl") return pageParts(root);
  if (name.startsWith("@seekrl/libtorch-")) return torchParts(path, libtorch);
  const { kernels } = await jsonIn(path, "stamp.json");
  return [...(await addonParts(root)), ...(kernels === undefined ? [] : [cudaPart(kernels)])];
}

const referenceTo = ({ name, version }) => (version === undefined ? name : `${name}@${version}`);

/** A part that no package manager lists; `file` has its licence's text, in the tarball. */
function partComponent({ name, version, license: id, url, text, file, purl }) {
  const reference = referenceTo({ name, version });
  // Of those with a text it is npm's package.
  const known = purl ?? `pkg:${text === undefined ? "generic" : "npm"}/${reference}`;
  const what = { "bom-ref": reference, type: "library", name, version, purl: known, licenses: license(id) };
  const links = url === undefined ? {} : { externalReferences: [{ type: "license", url }] };
  const told = file === undefined ? {} : { properties: [{ name: "seekrl:licence", value: file }] };
  return { ...what, ...links, ...told };
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

/** Writes what a release is made of (CycloneDX 1.5): packages as npm lists them, and what is compiled into machine code and page. */
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { sha256Of } from "../setup/digest.mjs";
import { say } from "../setup/report.mjs";
import { manifestOf, tarballsIn } from "./tarball.mjs";

const run = promisify(execFile);

/** Packages of npm that a build compiles into what is shipped: into the addons, into the studio's page. */
const compiledIn = ["node-addon-api", "usearch", "preact", "uplot"];

/** CycloneDX takes names that SPDX does not know as names. */
function license(text) {
  if (/ (AND|OR|WITH) /.test(text)) return [{ expression: text }];
  return [{ license: /\s/.test(text) ? { name: text } : { id: text } }];
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

/** A package of npm, as its own manifest says. */
async function packageComponent(root, name) {
  const { version, license: id } = JSON.parse(
    await readFile(join(root, "node_modules", name, "package.json")),
  );
  const reference = { "bom-ref": `${name}@${version}`, purl: `pkg:npm/${name}@${version}` };
  return { ...reference, type: "library", name, version, licenses: license(id) };
}

/** A tarball, with its digest. */
async function tarballComponent(path) {
  const { name, version, license: id } = await manifestOf(path);
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const what = {
    "bom-ref": `${basename(path)}#${name}`,
    type: "library",
    name,
    version,
    purl,
    licenses: license(id),
  };
  return { ...what, hashes: [{ alg: "SHA-256", content: await sha256Of(path) }] };
}

/** Writes `sbom.cdx.json` beside the tarballs of `out`, which it names. */
export async function writeSbom(out, root) {
  const sbom = await npmList(root);
  // npm calls a clone by its folder's name.
  sbom.metadata.component.name = "seekrl";
  const known = new Set(sbom.components.map(({ purl }) => purl));
  const own = await Promise.all(compiledIn.map((name) => packageComponent(root, name)));
  const packed = await Promise.all((await tarballsIn(out)).map(tarballComponent));
  sbom.components.push(...own.filter(({ purl }) => !known.has(purl)), ...packed);
  await writeFile(join(out, "sbom.cdx.json"), `${JSON.stringify(sbom, null, 2)}\n`);
  say(`sbom.cdx.json: ${sbom.components.length} components`);
}

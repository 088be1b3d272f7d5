/** The list of what a release is made of: packages, what is compiled in, and each tarball with its digest. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importScript, projectRoot } from "../../project.ts";
import { writeTarball } from "../tarball.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly purl: string;
  readonly hashes?: readonly object[];
  readonly licenses?: readonly object[];
  readonly properties?: readonly object[];
}

interface Sbom {
  readonly bomFormat: string;
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly metadata: { readonly component: Component };
}

const { writeSbom } = (await importScript("scripts/pack/sbom.mjs")) as {
  writeSbom(out: string, root: string): Promise<void>;
};
const { requirePublishable } = (await importScript("scripts/release/publishable.mjs")) as {
  requirePublishable(folder: string): Promise<void>;
};

const folder = await mkdtemp(join(tmpdir(), "seekrl-sbom-"));
after(() => rm(folder, { recursive: true }));

const platform = { name: "@seekrl/linux-x64", version: "0.2.0", libtorch: "2.13.0", repository: {} };
const main = {
  ...{ name: "seekrl", version: "0.1.0", repository: {} },
  optionalDependencies: { [platform.name]: platform.version },
};
const libtorch = {
  ...{ name: "@seekrl/libtorch-linux-x64", version: "1.0.0", libtorch: "2.13.0", repository: {} },
};
const mit = "Permission is hereby granted, free of charge, to any person obtaining a copy\n";
const bsd = "Redistribution and use in source and binary forms\n";
const apache = "Apache License\n  Version 2.0, January 2004\n";
const parts = "licenses/third_party";
const licences = {
  "licenses/libgomp/GPL-3.0.txt": "",
  [`${parts}/fmt/LICENSE`]: mit,
  [`${parts}/kineto/LICENSE`]: `${bsd}to endorse or\n promote products\n`,
  [`${parts}/kineto/third_party/fmt/LICENSE`]: mit,
  [`${parts}/NVTX/LICENSE.txt`]: `Apache License v2.0 with LLVM Exceptions\n${apache}`,
  [`${parts}/llvm-openmp/LICENSE.txt`]: `${apache}${mit}`,
  [`${parts}/pthreadpool/LICENSE`]: bsd,
};

async function read<T>(path: string): Promise<T> {
  return JSON.parse(await readFile(path, "utf8")) as T;
}

const out = join(folder, "out");
await mkdir(out);
const tarballs = {
  main: await writeTarball(out, main),
  platform: await writeTarball(out, platform, { "stamp.json": '{"kernels":"13.0"}' }),
  libtorch: await writeTarball(out, libtorch, licences),
};
await writeSbom(out, projectRoot);
const sbom = await read<Sbom>(join(out, "sbom.cdx.json"));
const about = sbom.metadata.component;
const components = new Map(sbom.components.map((each) => [each["bom-ref"], each]));
const needs = new Map(sbom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]));

const { dependencies } = await read<{ dependencies: object }>(join(projectRoot, "package.json"));
const { packages } = await read<{ packages: Record<string, { version: string }> }>(
  join(projectRoot, "package-lock.json"),
);
const locked = (name: string): string => `${name}@${packages[`node_modules/${name}`]?.version}`;
const { version } = await read<{ version: string }>(
  join(projectRoot, "node_modules", "usearch", "numkong", "package.json"),
);
const numkong = `numkong@${version}`;

test("the list of parts is CycloneDX, and names each once", () => {
  assert.equal(sbom.bomFormat, "CycloneDX");
  assert.equal(components.size, sbom.components.length);
});

test("the list of parts names each package that is installed or built in, with its licence", () => {
  const names = [...Object.keys(dependencies), "preact", "uplot", "node-addon-api"];
  const unlicensed = names.filter((name) => !components.get(locked(name))?.licenses?.length);
  assert.deepEqual(unlicensed, []);
  assert.deepEqual(components.get(numkong)?.licenses, [{ license: { id: "Apache-2.0" } }]);
});

test("the list of parts names neither the clone nor what only development needs", () => {
  assert.ok(!sbom.components.some(({ purl }) => /usearch|\/seekrl@/.test(purl)));
  assert.doesNotMatch(JSON.stringify(about), /private/);
});

/** What the list says of a file's bytes. */
async function hashesOf(path: string): Promise<object[]> {
  const bytes = await readFile(path);
  return [{ alg: "SHA-256", content: createHash("sha256").update(bytes).digest("hex") }];
}

test("the list of parts has the digest of each tarball, seekrl as what it is about", async () => {
  assert.deepEqual([about.name, about.hashes], ["seekrl", await hashesOf(tarballs.main)]);
  assert.deepEqual(components.get("@seekrl/linux-x64@0.2.0")?.hashes, await hashesOf(tarballs.platform));
  assert.deepEqual(
    components.get("@seekrl/libtorch-linux-x64@1.0.0")?.hashes,
    await hashesOf(tarballs.libtorch),
  );
});

test("the list of parts says of each package what it needs, and what is compiled into it", () => {
  assert.ok(needs.get(about["bom-ref"])?.includes("@seekrl/linux-x64@0.2.0"));
  assert.deepEqual(needs.get("@seekrl/linux-x64@0.2.0"), [
    locked("node-addon-api"),
    numkong,
    "cudart@13.0",
    "@seekrl/libtorch-linux-x64@1.0.0",
  ]);
  assert.deepEqual(needs.get("@seekrl/libtorch-linux-x64@1.0.0")?.toSorted(), [
    ...["NVTX", "fmt", "kineto", "libgomp", "llvm-openmp", "pthreadpool", "torch@2.13.0"],
  ]);
});

test("PyTorch stands in the list by the name under which its faults are known", () => {
  assert.equal(components.get("torch@2.13.0")?.purl, "pkg:pypi/torch@2.13.0");
});

test("a part of libtorch has SPDX's name where its licence says it plainly, else one of its own, and the file", () => {
  const told = (name: string) => components.get(name)?.licenses?.[0];
  assert.deepEqual(told("fmt"), { license: { id: "MIT" } });
  assert.deepEqual(told("kineto"), { license: { id: "BSD-3-Clause" } });
  assert.deepEqual(told("pthreadpool"), { license: { id: "BSD-2-Clause" } });
  assert.deepEqual(told("NVTX"), { expression: "Apache-2.0 WITH LLVM-exception" });
  assert.deepEqual(told("libgomp"), { expression: "GPL-3.0-or-later WITH GCC-exception-3.1" });
  assert.deepEqual(told("llvm-openmp"), { license: { name: "LicenseRef-llvm-openmp" } });
  assert.deepEqual(told("cudart@13.0"), { license: { name: "LicenseRef-NVIDIA-CUDA-EULA" } });
  const file = { name: "seekrl:licence", value: `${parts}/kineto/LICENSE` };
  assert.deepEqual(components.get("kineto")?.properties, [file]);
});

test("whatever a part needs is a part of the list", () => {
  const needed = [...needs.values()].flat();
  assert.deepEqual(
    needed.filter((each) => !components.has(each)),
    [],
  );
});

test("tarballs with their list can be published; one that was packed since the list cannot", async () => {
  await requirePublishable(out);
  const later = join(folder, "later");
  await cp(out, later, { recursive: true });
  await writeTarball(later, { ...platform, libtorch: undefined });
  await assert.rejects(
    requirePublishable(later),
    /linux-x64-0\.2\.0\.tgz: sbom\.cdx\.json lists it with SHA-256 \w+, got \w+\. Remedy/,
  );
});

test("a part that is packed again takes the list of parts with it", async () => {
  const { pack, writeManifest } = await importScript("scripts/pack/tarball.mjs");
  const stale = join(folder, "stale");
  await mkdir(stale);
  await writeFile(join(stale, "sbom.cdx.json"), "{}");
  await writeManifest(join(folder, "staged"), { name: "seekrl", version: "0.1.0" });
  await pack(join(folder, "staged"), stale);
  assert.deepEqual(await readdir(stale), ["seekrl-0.1.0.tgz"]);
});

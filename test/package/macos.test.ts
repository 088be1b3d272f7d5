/** Packages for macOS, as far as that shows elsewhere: what libraries say of themselves, and which tools are called. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { importScript } from "../project.ts";
import { machO } from "./mach-o.ts";

const scratch = await mkdtemp(join(tmpdir(), "seekrl-macos-"));
after(() => rm(scratch, { recursive: true }));

const { platformOf } = await importScript("scripts/pack/platforms.mjs");
const macos = platformOf("darwin-arm64");

/** A folder of libtorch as macOS has it, whose headers state a version. */
async function torchFolder(): Promise<string> {
  const folder = join(scratch, "torch");
  for (const each of ["lib", "include/ATen", "include/torch"])
    await mkdir(join(folder, each), { recursive: true });
  await writeFile(join(folder, "include/ATen/ATen.h"), "");
  const stated = ["MAJOR 2", "MINOR 13", "PATCH 0"].map((part) => `#define TORCH_VERSION_${part}\n`);
  await writeFile(join(folder, "include/torch/version.h"), stated.join(""));
  const needs: Record<string, readonly string[]> = {
    "libtorch.dylib": ["@rpath/libtorch_cpu.dylib"],
    "libtorch_cpu.dylib": ["@rpath/libc10.dylib", "@rpath/libomp.dylib", "/usr/lib/libc++.1.dylib"],
    "libtorch_python.dylib": ["@rpath/libtorch.dylib"],
    "libc10.dylib": [],
    "libomp.dylib": [],
  };
  for (const [name, needed] of Object.entries(needs))
    await writeFile(join(folder, "lib", name), machO({ needed }));
  return folder;
}

const torch = await torchFolder();

test("a libtorch of macOS is one on macOS, and is none on Linux", async () => {
  const { refusal } = await importScript("scripts/setup/torch-folder.mjs");
  assert.equal(await refusal(torch, { platform: "darwin" }), undefined);
  assert.equal(await refusal(torch, { platform: "linux" }), "no lib/libtorch_cpu.so");
});

test("pip and curl are asked for macOS's own build", async () => {
  const { downloads } = await importScript("scripts/setup/libtorch.mjs");
  const [there, here] = [downloads("darwin"), downloads("linux")];
  assert.match(there.wheel, /^torch==[\d.]+$/);
  assert.match(there.archive, /\/cpu\/libtorch-macos-arm64-[\d.]+\.zip$/);
  assert.equal(here.wheel, `${there.wheel}+cpu`);
});

test("of libtorch's Mach-O libraries those are packed that a program needs, each after what it needs", async () => {
  const { closureOf } = await importScript("scripts/pack/libtorch-package.mjs");
  assert.deepEqual(closureOf(join(torch, "lib"), macos.libtorch), [
    "libc10.dylib",
    "libomp.dylib",
    "libtorch_cpu.dylib",
    "libtorch.dylib",
  ]);
});

test("a library that needs a younger macOS, or one at a path of its maker's, is not packed", async () => {
  const { requireBaseline } = await importScript("scripts/pack/baseline.mjs");
  const path = join(scratch, "seekrl.node");
  await writeFile(path, machO({ needed: ["/usr/lib/libc++.1.dylib", "/System/Library/Frameworks/Metal"] }));
  await requireBaseline([path]);
  await writeFile(path, machO({ least: [15, 2], needed: ["/opt/homebrew/lib/libomp.dylib"] }));
  await assert.rejects(
    requireBaseline([path]),
    /macOS 14\.0 lacks what is needed here: macOS 15\.2 \(seekrl\.node\), \/opt\/homebrew\/lib\/libomp\.dylib \(seekrl/,
  );
});

test("a file of macOS is signed again after it is stripped", async () => {
  const { copyStripped } = await importScript("scripts/pack/strip.mjs");
  const calls: string[] = [];
  const call = async (name: string, words: readonly string[]) => void calls.push([name, ...words].join(" "));
  const [from, to] = [join(torch, "lib", "libc10.dylib"), join(scratch, "libc10.dylib")];
  await copyStripped(from, to, macos, call);
  assert.deepEqual(calls, [`strip -x ${to}`, `codesign --force --sign - ${to}`]);
});

test("macOS's OpenMP is LLVM's, and its package names no licence of Linux's", async () => {
  const { licenseOf, readme } = await importScript("scripts/pack/libtorch-package.mjs");
  assert.equal(licenseOf(macos), "BSD-3-Clause AND Apache-2.0 WITH LLVM-exception");
  const page: string = readme(macos, { name: "it", version: "2.13.0", libraries: [] });
  assert.match(page, /libomp is LLVM's/);
  assert.doesNotMatch(page, /GCC|Intel/);
  const linux = platformOf("linux-x64");
  assert.match(
    licenseOf(linux),
    /^BSD-3-Clause AND GPL-3\.0-or-later WITH GCC-exception-3\.1 AND LicenseRef-Intel/,
  );
  assert.match(readme(linux, { name: "it", version: "2.13.0", libraries: [] }), /libgomp is GCC's/);
});

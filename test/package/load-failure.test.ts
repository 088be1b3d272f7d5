/** Libraries that do not load: the loader's words, what they mean here, and what to do. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { type Host, thisHost } from "../../lib/base/packages/host.ts";
import { loadFailure } from "../../lib/base/packages/load-failure.ts";
import { requireOneLibtorch } from "../../lib/base/packages/one-process.ts";
import { importScript, projectRoot } from "../project.ts";
import { builtLibtorch, ownPackage, plant, version } from "./planted.ts";

const scratch = await realpath(await mkdtemp(join(tmpdir(), "seekrl-load-")));
after(() => rm(scratch, { recursive: true }));

const host: Host = { platform: "linux", arch: "x64", napi: 9, glibc: () => "2.17" };

test("a system that is too old is told what it has and what is expected", () => {
  const said =
    "/lib64/libm.so.6: version `GLIBC_2.27' not found (required by /app/node_modules/@seekrl/seekrl.node)";
  const { code, message } = loadFailure(new Error(said), host);
  assert.equal(code, "ERR_STATE");
  assert.match(
    message,
    /GLIBC_2\.27' not found.*this system has glibc 2\.17, glibc 2\.28 or later is expected\. Remedy/,
  );
  const library = "/usr/lib/libstdc++.so.6: version `GLIBCXX_3.4.22' not found (required by seekrl.node)";
  assert.match(
    loadFailure(new Error(library), host).message,
    /older than g\+\+ 8's\. Remedy: a later one first in LD/,
  );
});

test("a system whose glibc states no version is told so", () => {
  const said = "libm.so.6: version `GLIBC_2.27' not found (required by seekrl.node)";
  const { message } = loadFailure(new Error(said), { ...host, glibc: () => "unknown" });
  assert.match(message, /this system has glibc of an unknown version, glibc 2\.28 or later is expected/);
});

test("asking which glibc there is leaves the process's own reports as they were", () => {
  const report = process.report as typeof process.report & { excludeNetwork?: boolean };
  for (const excludeNetwork of [false, true]) {
    report.excludeNetwork = excludeNetwork;
    thisHost.glibc();
    assert.equal(report.excludeNetwork, excludeNetwork);
  }
});

test("what else a loader says has a meaning and a remedy, or leads to the doctor", () => {
  const meaningOf = (said: string) => loadFailure(new Error(said), host).message;
  assert.match(meaningOf("seekrl.node: file too short"), /the file is damaged\. Remedy: remove node_modules/);
  assert.match(meaningOf("seekrl.node: wrong ELF class: ELFCLASS32"), /another platform\. Remedy/);
  assert.match(meaningOf("failed to map segment from shared object"), /noexec.*Remedy: install elsewhere/);
  assert.match(
    meaningOf("libgomp.so.1: cannot open shared object file: No such file"),
    /is missing\. Remedy/,
  );
  assert.match(
    meaningOf("Library not loaded: @rpath/libomp.dylib\n  Referenced from: libtorch_cpu.dylib"),
    /a library that it needs is missing\. Remedy/,
  );
  assert.match(
    meaningOf("Symbol not found: _foo (built for macOS 14.0 which is newer than running OS)"),
    /: macOS 14\.0 or later is expected\. Remedy: a later system/,
  );
  assert.match(meaningOf("undefined symbol: foo"), /undefined symbol: foo: Remedy: npx seekrl doctor/);
});

test("another libtorch in the process is refused with both paths, the same one is not", async () => {
  const real = join(scratch, "real", "lib");
  await mkdir(real, { recursive: true });
  await writeFile(join(real, "libtorch_cpu.so"), "");
  await symlink(join(scratch, "real"), join(scratch, "own"));
  const own = join(scratch, "own", "lib", "libtorch_cpu.so");
  requireOneLibtorch(own, ["/usr/lib/libc.so.6", join(real, "libtorch_cpu.so")]);
  assert.throws(() => requireOneLibtorch(own, ["/opt/torch with blanks/lib/libtorch_cpu.so"]), {
    code: "ERR_STATE",
    message:
      /from \/opt\/torch with blanks\/lib\/libtorch_cpu\.so; seekrl has .*own.* one process holds one libtorch\. Remedy/,
  });
});

/** A copy of what loads the addon, with an addon of its own. */
async function copyOfSeekrl(name: string): Promise<string> {
  const root = join(scratch, name);
  const built = join("build", "cmake", "Release");
  await cp(join(projectRoot, "dist", "lib", "base"), join(root, "dist", "lib", "base"), { recursive: true });
  await mkdir(join(root, built), { recursive: true });
  for (const file of ["seekrl.node", "seekrl_preload.node"])
    await cp(join(projectRoot, built, file), join(root, built, file));
  await cp(join(projectRoot, "build", "libtorch.json"), join(root, "build", "libtorch.json"));
  await writeFile(join(root, "package.json"), JSON.stringify({ version, type: "module" }));
  return pathToFileURL(join(root, "dist", "lib", "base", "addon", "native.js")).href;
}

test("a second copy of seekrl is refused with both addons, in another thread too", async () => {
  const [first, second] = [await copyOfSeekrl("first"), await copyOfSeekrl("second")];
  const attempt = `(({ native }) => { try { native(); return "loaded"; } catch ({ code, message }) { return code + " " + message; } })`;
  const inThread = `import { parentPort } from "node:worker_threads";
    parentPort.postMessage(${attempt}(await import("${second}")));`;
  const code = `import { Worker } from "node:worker_threads";
    console.log(${attempt}(await import("${first}")));
    console.log(${attempt}(await import("${second}")));
    const thread = new Worker(new URL("data:text/javascript," + encodeURIComponent(${JSON.stringify(inThread)})));
    thread.on("message", (said) => console.log(said));`;
  const { stdout, status } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    encoding: "utf8",
  });
  const [own, here, there] = stdout.trim().split("\n");
  assert.equal(own, "loaded");
  const refused =
    /^ERR_STATE .* from \S*\/first\/\S*\/seekrl\.node; .* has \S*\/second\/\S*\/seekrl\.node, .*Remedy: npm ls/;
  assert.match(here ?? "", refused);
  assert.match(there ?? "", refused);
  assert.equal(status, 0);
});

test("a package whose addon is no library is one error of the first call that needs it", async () => {
  const root = join(scratch, "node_modules", "seekrl");
  await cp(join(projectRoot, "dist", "lib", "base"), join(root, "dist", "lib", "base"), { recursive: true });
  await writeFile(join(root, "package.json"), JSON.stringify({ version, type: "module" }));
  const addon = { "seekrl.node": "no library", "seekrl_preload.node": "no library" };
  const { versionOf } = (await importScript("scripts/setup/torch-folder.mjs")) as {
    versionOf(folder: string): Promise<string>;
  };
  const libtorch = await versionOf(builtLibtorch());
  await plant(join(scratch, "node_modules"), ownPackage, addon, { napi: 8, libtorch });
  const native = pathToFileURL(join(root, "dist", "lib", "base", "addon", "native.js")).href;
  const code = `const { native } = await import("${native}");
    try { native(); } catch ({ code, message }) { console.log(code, message); }`;
  const { stdout } = spawnSync(process.execPath, ["--input-type=module", "-e", code], {
    encoding: "utf8",
    env: { ...process.env, SEEKRL_LIBTORCH: builtLibtorch() },
  });
  assert.match(
    stdout,
    /^ERR_FORMAT .*seekrl_preload\.node: expected a library of 64-bit Linux, got something else\. Remedy/,
  );
});

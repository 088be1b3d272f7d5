/** A build of which a part is gone: the command sets it up again, the library names what is missing. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { pathToFileURL } from "node:url";
import { projectRoot } from "../project.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(root, { recursive: true }));

/** A clone whose addons are there, without the file that says where libtorch is. */
await mkdir(join(root, "build", "cmake", "Release"), { recursive: true });
for (const name of ["seekrl.node", "seekrl_preload.node"])
  await writeFile(join(root, "build", "cmake", "Release", name), "");
await writeFile(join(root, "package.json"), JSON.stringify({ type: "module" }));
await writeFile(join(root, "tsconfig.json"), "{}");
await cp(join(projectRoot, "bin"), join(root, "bin"), { recursive: true });
await cp(join(projectRoot, "dist", "lib", "base"), join(root, "dist", "lib", "base"), { recursive: true });

function node(...args: string[]) {
  return spawnSync(process.execPath, args, { cwd: root, encoding: "utf8" });
}

test("the command sets up a clone without libtorch.json and says so", async () => {
  await mkdir(join(root, "scripts"));
  await writeFile(join(root, "scripts", "ensure.mjs"), 'console.log("set up");\n');
  await mkdir(join(root, "dist", "apps", "cli"), { recursive: true });
  await writeFile(join(root, "dist", "apps", "cli", "main.js"), "export const main = async () => 0;\n");
  const { status, stdout, stderr } = node(join("bin", "seekrl.mjs"));
  assert.deepEqual([status, stdout], [0, ""]);
  assert.match(stderr, /libtorch\.json is missing; setting up\nset up\n$/);
});

test("the library names the file of the build that is missing", () => {
  const native = pathToFileURL(join(root, "dist", "lib", "base", "addon", "native.js")).href;
  const { stderr } = node("--input-type=module", "-e", `(await import("${native}")).native()`);
  assert.match(stderr, /the native addon is not built: \S+libtorch\.json is missing\. Remedy: npm run build/);
});

/** The package where there is no addon: what needs no native code works, the rest says what to do. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { cp, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { projectRoot } from "../project.ts";

const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
after(() => rm(folder, { recursive: true }));
for (const part of ["dist/lib", "dist/connectors", "dist/apps", "package.json"])
  await cp(join(projectRoot, part), join(folder, part), { recursive: true });
await symlink(join(projectRoot, "node_modules"), join(folder, "node_modules"));

function run(code: string): string {
  const args = ["--input-type=module", "--eval", code];
  return execFileSync(process.execPath, args, { cwd: folder, encoding: "utf8", timeout: 60_000 });
}

const usesNative = `
    import { buildIndex } from "seekrl/search";
    const passages = [{ id: "1", title: "a", text: "b" }];
    await buildIndex({ corpus: passages, out: "index" }).catch(({ code, message }) => console.log(code, message));`;

test("without the addon, what needs no native code works", () => {
  const code = `
    import { SeekError } from "seekrl";
    import { readQuestions } from "seekrl/data";
    import { exactMatch } from "seekrl/rewards";
    console.log(typeof readQuestions, new SeekError("ERR_STATE", "x").code, exactMatch("Paris", ["paris"]));`;
  assert.equal(run(code), "function ERR_STATE 1\n");
});

test("without the addon a model of the hub is not waited for as if another process fetched it", () => {
  const code = `
    import { once } from "node:events";
    import { createServer } from "node:http";
    import { fetchModel } from "seekrl/data";
    const siblings = [{ rfilename: "model.safetensors", size: 1, blobId: "d".repeat(40) }];
    const listed = JSON.stringify({ sha: "c".repeat(40), siblings });
    const server = createServer((_, answer) => answer.end(listed)).listen(0, "127.0.0.1");
    await once(server, "listening");
    const options = { endpoint: "http://127.0.0.1:" + server.address().port, cache: "cache", offline: false };
    await fetchModel("acme/tiny", options).catch(({ code, message }) => console.log(code, message));
    server.close();`;
  assert.match(run(code), /^ERR_STATE seekrl \S+ has no addon for .* Remedy: /);
});

test("on a platform without a package, what needs native code says so", () => {
  const expected = new RegExp(
    `^ERR_STATE seekrl \\S+ has no addon for ${process.platform}-${process.arch}: .* Remedy: `,
  );
  assert.match(run(usesNative), expected);
});

test("in a clone that was never built, what needs native code names the command that builds it", async () => {
  await cp(join(projectRoot, "tsconfig.json"), join(folder, "tsconfig.json"));
  assert.match(run(usesNative), /^ERR_STATE the native addon is not built: .* Remedy: npm run build\.\n$/);
});

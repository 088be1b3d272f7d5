/** What importing SeekRL loads: its own files, and nothing that only some programs need. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import ts from "typescript";
import { projectRoot } from "../project.ts";
import { entries } from "./surface.ts";

/** Small, and needed by whoever reads a model folder: 5 ms. */
const light = ["@huggingface/jinja", "stemmer"];

/** What a module and those it imports load of packages, without the imports that are made when they are needed. */
function packagesOf(file: string, seen = new Set<string>()): string[] {
  if (seen.has(file)) return [];
  seen.add(file);
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest);
  const specifiers = source.statements.flatMap((statement) =>
    (ts.isImportDeclaration(statement) || ts.isExportDeclaration(statement)) && statement.moduleSpecifier
      ? [(statement.moduleSpecifier as ts.StringLiteral).text]
      : [],
  );
  return specifiers.flatMap((path) => {
    if (path.startsWith("node:")) return [];
    return path.startsWith(".") ? packagesOf(join(dirname(file), path), seen) : [path];
  });
}

for (const [entry, file] of Object.entries(entries())) {
  test(`importing ${entry} loads no heavy package`, () => {
    const loaded = new Set(packagesOf(join(projectRoot, "dist", `${file}.js`)));
    assert.deepEqual(
      [...loaded].filter((name) => !light.includes(name)),
      [],
    );
  });
}

test("importing every entry loads no package but light ones, and neither addon nor libtorch", {
  skip: process.platform !== "linux" && "looks into /proc",
}, () => {
  const imports = Object.keys(entries()).map((entry) => `await import(${JSON.stringify(entry)});`);
  // CommonJS modules stand in the cache; shared libraries in the process's maps.
  const code = `${imports.join("\n")}
    import { readFileSync } from "node:fs";
    import { createRequire } from "node:module";
    const cached = Object.keys(createRequire(import.meta.url).cache);
    const mapped = readFileSync("/proc/self/maps", "utf8").match(/[^/]*(libtorch|seekrl[a-z_]*\\.node)[^/\\n]*/g);
    console.log(JSON.stringify({ cached, mapped }));`;
  const run = execFileSync(process.execPath, ["--input-type=module", "--eval", code], {
    cwd: projectRoot,
    encoding: "utf8",
  });
  assert.deepEqual(JSON.parse(run), { cached: [], mapped: null });
});

test("a thread that imports every entry has its port for itself", async () => {
  const modules = Object.values(entries()).map((file) =>
    pathToFileURL(join(projectRoot, "dist", `${file}.js`)),
  );
  const code = `import { parentPort } from "node:worker_threads";
    ${modules.map(({ href }) => `await import(${JSON.stringify(href)});`).join("\n")}
    parentPort.postMessage(parentPort.listenerCount("message"));`;
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(code)}`));
  const [count] = await once(worker, "message");
  await worker.terminate();
  assert.equal(count, 0);
});

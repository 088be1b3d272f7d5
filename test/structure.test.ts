/** The shape of the project itself: layers, file sizes, the map of its folders. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { test } from "node:test";
import ts from "typescript";
import { importScript, projectRoot } from "./project.ts";

/** From left to right: a folder may use itself and what stands left of it (DESIGN: layers). */
const layers = [
  ["lib/base"],
  ["lib/comm", "lib/text"],
  ["lib/data", "lib/model"],
  ["lib/engine", "lib/search"],
  ["lib/rollout"],
  ["lib/reward"],
  ["lib/evaluate", "lib/train"],
  ["lib/recipes"],
  ["connectors/remote"],
  ["connectors/endpoint", "connectors/reward", "connectors/stores", "connectors/web", "connectors/workers"],
  ["connectors/tools"],
  ["apps/baselines", "apps/cluster", "apps/plan", "apps/runs", "apps/serve", "apps/world"],
  ["apps/lint", "apps/push", "apps/studio"],
  ["apps/cli"],
];

/** The folder in which a file stands, from the project's root; none of a file of entries. */
const roomOf = (file: string): string | undefined => /^(?:lib|connectors|apps)\/[^/]+(?=\/)/.exec(file)?.[0];

/** Which native folders each native folder may include. */
const nativeUses: Record<string, readonly string[]> = {
  base: [],
  kernels: ["base"],
  comm: ["base"],
  graphs: [],
  ops: ["base", "kernels"],
  model: ["base", "comm", "kernels", "ops"],
  search: ["base", "kernels"],
  engine: ["base", "comm", "graphs", "kernels", "ops", "model"],
  train: ["base", "comm", "kernels", "ops", "model"],
  follow: ["base", "comm", "kernels", "ops", "model", "engine", "train"],
  node: ["base", "comm", "kernels", "ops", "model", "search", "engine", "train", "follow"],
  preload: [],
};

const maxLines = 500;
const maxFunctionLines = 40;

function trackedFiles(...patterns: string[]): string[] {
  const listed = execFileSync(
    "git",
    ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...patterns],
    {
      cwd: projectRoot,
      encoding: "utf8",
    },
  );
  return listed.split("\n").filter((file) => file.length > 0);
}

const read = (file: string): string => readFileSync(join(projectRoot, file), "utf8");

function layerOf(room: string): number {
  return layers.findIndex((layer) => layer.includes(room));
}

/** The project's own files that a file imports, from the project's root. */
function importedBy(file: string): string[] {
  const paths = [...read(file).matchAll(/(?:from |import\()"(\.\.?\/[^"]+)"/g)];
  return paths.map(([, path = ""]) => posix.join(posix.dirname(file), path));
}

test("a folder of lib, connectors or apps imports only itself and what stands left of it", () => {
  const wrong: string[] = [];
  for (const file of trackedFiles("lib/*/**.ts", "connectors/*/**.ts", "apps/*/**.ts")) {
    const room = roomOf(file) ?? "";
    assert.notEqual(layerOf(room), -1, `${file}: the folder ${room} has no layer`);
    for (const path of importedBy(file)) {
      const used = roomOf(path) ?? path;
      const allowed = used === room || (layerOf(used) !== -1 && layerOf(used) < layerOf(room));
      if (!allowed) wrong.push(`${file} imports ${path}`);
    }
  }
  assert.deepEqual(wrong, []);
});

/** Read what the package brings, what the system says, or what their own process wrote. */
const ownFiles =
  /^(lib\/base\/(packages|files)\/|lib\/base\/package-root|lib\/train\/run\/checkpoint|connectors\/remote\/files\/download-file|apps\/runs\/run-lock|apps\/cli\/(machine\/hardware|chat\/line-history|commands\/(setup\/init|launch\/))|apps\/studio\/page\/|apps\/world\/(ablations|demo)\/)/;

test("files of others are opened by lib/base/files/regular-file.ts alone", () => {
  const opening =
    /import \{[^}]*\b(open|openSync|openAsBlob|readFile|readFileSync|createReadStream|cp|copyFile)\b[^}]*\} from "node:fs/;
  const files = trackedFiles("lib/**.ts", "connectors/**.ts", "apps/**.ts").filter(
    (file) => !ownFiles.test(file),
  );
  assert.deepEqual(
    files.filter((file) => opening.test(read(file))),
    [],
  );
});

/** The page's folders, from left to right as {@link layers}. */
const pageLayers = ["base", "api", "parts", "shell", "conversation", "panels", "main.tsx"];

test("the page knows the types of the studio's API and nothing else of the project", () => {
  const wrong: string[] = [];
  for (const file of trackedFiles("web/**.ts", "web/**.tsx"))
    for (const path of importedBy(file))
      if (!path.startsWith("web/") && path !== "apps/studio/api.ts") wrong.push(`${file} imports ${path}`);
  assert.deepEqual(wrong, []);
});

test("a folder of the page imports only itself and what stands left of it", () => {
  const layerIn = (path: string): number => pageLayers.indexOf(path.split("/")[1] ?? "");
  const wrong: string[] = [];
  for (const file of trackedFiles("web/**.ts", "web/**.tsx"))
    for (const path of importedBy(file).filter((each) => each.startsWith("web/")))
      if (layerIn(path) > layerIn(file) || layerIn(path) < 0) wrong.push(`${file} imports ${path}`);
  assert.deepEqual(wrong, []);
});

/** Those that come back to themselves along what each uses. */
function circlesOf(uses: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const reached = (start: string): Set<string> => {
    const [seen, waiting] = [new Set<string>(), [start]];
    for (let from = waiting.pop(); from !== undefined; from = waiting.pop())
      for (const next of uses.get(from) ?? []) {
        if (!seen.has(next)) waiting.push(next);
        seen.add(next);
      }
    return seen;
  };
  return [...uses.keys()].filter((each) => reached(each).has(each));
}

test("files of lib, connectors, apps and the page do not import each other in circles", () => {
  const uses = new Map(
    trackedFiles("lib/**.ts", "connectors/**.ts", "apps/**.ts", "web/**.ts", "web/**.tsx").map((file) => [
      file,
      new Set(importedBy(file)),
    ]),
  );
  assert.deepEqual(circlesOf(uses), []);
});

test("folders within a folder of lib, connectors or apps do not use each other in circles", () => {
  const uses = new Map<string, Set<string>>();
  for (const file of trackedFiles("lib/*/*/**.ts", "connectors/*/*/**.ts", "apps/*/*/**.ts")) {
    const room = posix.dirname(file);
    const isNeighbour = (used: string): boolean =>
      used !== room && posix.dirname(used) === posix.dirname(room);
    const used = importedBy(file).map((path) => posix.dirname(path));
    uses.set(room, new Set([...(uses.get(room) ?? []), ...used.filter(isNeighbour)]));
  }
  assert.deepEqual(circlesOf(uses), []);
});

test("a native folder includes only itself and what stands left of it", () => {
  const wrong: string[] = [];
  for (const file of trackedFiles("native/*/**.h", "native/*/**.cpp", "native/*/**.cu")) {
    const folder = file.split("/")[1] ?? "";
    const allowed = nativeUses[folder];
    assert.ok(allowed, `${file}: the folder ${folder} has no layer`);
    for (const [, used = ""] of read(file).matchAll(/#include "([^/"]+)\//g)) {
      if (used !== folder && !allowed.includes(used)) wrong.push(`${file} includes ${used}`);
    }
  }
  assert.deepEqual(wrong, []);
});

test("kernels know neither torch nor JavaScript", () => {
  const torch = /#include <(ATen|torch|c10|napi)/;
  const wrong = trackedFiles("native/kernels", "native/base").filter((file) => torch.test(read(file)));
  assert.deepEqual(wrong, []);
});

test("the headers that take longest to compile are read by one unit each", () => {
  const cmake = read("CMakeLists.txt");
  const inOps = (file: string): boolean => file.startsWith("native/ops/") || cmake.includes(file);
  const places: [RegExp, (file: string) => boolean][] = [
    [/#include <torch\/csrc\/autograd/, inOps],
    [/#include <torch\/csrc\/distributed/, (file) => file.startsWith("native/comm/")],
    [/#include <(torch\/torch|torch\/extension|ATen\/ATen|torch\/all)\.h>/, () => false],
  ];
  for (const file of trackedFiles("native")) {
    const text = read(file);
    for (const [header, isPlace] of places)
      assert.ok(!header.test(text) || isPlace(file), `${file} includes ${header.source}`);
    // A header of ours that reads them would bring them into every unit that names it.
    const isLight = !file.endsWith(".h") || /native\/(ops\/attention\/saved_rule|comm\/)/.test(file);
    assert.ok(isLight || !/#include <torch\/csrc\/(autograd|distributed)/.test(text), file);
  }
});

test("no source file is longer than 500 lines", () => {
  const sources = trackedFiles(
    "lib",
    "connectors",
    "apps",
    "web",
    "native",
    "test",
    "bench",
    "scripts",
  ).filter((file) => /\.(tsx?|mjs|css|h|cpp|cu|cuh|py)$/.test(file));
  const long = sources.filter((file) => read(file).split("\n").length > maxLines);
  assert.deepEqual(long, []);
});

/** Functions of a file with more lines than {@link maxFunctionLines}, by their first line. */
function longFunctions(file: string): string[] {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest);
  const lineAt = (position: number): number => source.getLineAndCharacterOfPosition(position).line + 1;
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    ts.forEachChild(node, visit);
    if (!ts.isFunctionLike(node)) return;
    const [first, last] = [lineAt(node.getStart(source)), lineAt(node.end)];
    if (last - first >= maxFunctionLines) found.push(`${file}:${first}`);
  };
  visit(source);
  return found;
}

test("no function is longer than 40 lines", () => {
  const sources = trackedFiles("lib", "connectors", "apps", "web", "bench", "scripts").filter((file) =>
    /\.(tsx?|mjs)$/.test(file),
  );
  assert.deepEqual(sources.flatMap(longFunctions), []);
});

test("every source file opens with a sentence that says what it is for", () => {
  const mute = trackedFiles(
    "lib/**.ts",
    "connectors/**.ts",
    "apps/**.ts",
    "web/**.ts",
    "web/**.tsx",
    "native/**.h",
    "native/**.cpp",
  ).filter((file) => !/^(\/\*\*|\/\/) ?\S*/.test(read(file)));
  assert.deepEqual(mute, []);
});

test("the map says what every folder of lib, connectors, apps and native is for", () => {
  execFileSync(process.execPath, ["scripts/map.mjs"], { cwd: projectRoot, stdio: "pipe" });
});

test("no folder holds more than 12 files; a C++ header and its source are one", () => {
  const folders = new Map<string, Set<string>>();
  for (const file of trackedFiles("lib/**.ts", "connectors/**.ts", "apps/**.ts", "web", "native/**")) {
    const { dir, name } = posix.parse(file);
    folders.set(dir, (folders.get(dir) ?? new Set()).add(name));
  }
  assert.deepEqual(
    [...folders].filter(([, names]) => names.size > 12),
    [],
  );
});

/** Tests are named without the folder of all, and their ending. */
const placeOf = (path: string, end: string): string =>
  join(projectRoot, end === "" ? path : `test/${path}${end}`);

test("every path of ARCHITECTURE.md is there", () => {
  const paths = [
    ...read("ARCHITECTURE.md").matchAll(/`((?:lib|connectors|apps|native|web|scripts|test)\/[\w./-]+)`/g),
  ];
  const missing = paths
    .map(([, path = ""]) => path)
    .filter((path) => !["", ".test.ts", ".full.test.ts"].some((end) => existsSync(placeOf(path, end))));
  assert.ok(paths.length > 100);
  assert.deepEqual(missing, []);
});

/** What the project may not grow beyond; a number that has gone down takes its limit with it. */
const limits: Readonly<Record<string, number>> = {
  libLines: 43_300,
  typescriptLines: 100_500,
  nativeLines: 43_320,
  testLines: 78_900,
  docsWords: 84_200,
  rooms: 12,
  floors: 8,
  importedByTrain: 226,
  importedByRl: 135,
  names: 182,
  namesOfAll: 527,
  options: 562,
  distinctOptions: 214,
  trainOptions: 54,
};

test("the project is not larger than it was: lines, rooms, names, options", async () => {
  const { measureStructure } = (await importScript("scripts/measure-structure.mjs")) as {
    measureStructure: () => Promise<Record<string, number>>;
  };
  const measured = await measureStructure();
  assert.deepEqual(Object.keys(measured), Object.keys(limits));
  const grown = Object.entries(measured).filter(([name, value]) => value > limits[name]!);
  assert.deepEqual(grown, []);
});

test("nothing is left open in the code", () => {
  const marks = new RegExp(
    ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"].map((word) => `\\b${word}\\b`).join("|"),
  );
  const open = trackedFiles("lib", "connectors", "apps", "web", "native", "test", "bench", "scripts").filter(
    (file) => marks.test(read(file)),
  );
  assert.deepEqual(open, []);
});

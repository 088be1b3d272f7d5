/** What stands in the place of a file: every reader says what it met, and none waits for it. */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { readPrompt } from "../../apps/cli/options/judge-options.ts";
import { readToolsFile } from "../../apps/cli/options/tool-options.ts";
import { EvaluationFile } from "../../apps/runs/evaluations/evaluation-file.ts";
import { readConfig } from "../../apps/runs/run-config.ts";
import { RunFolder } from "../../apps/runs/run-folder.ts";
import { readWorldFile } from "../../apps/world/world-file.ts";
import { digestOfFile } from "../../lib/base/files/digests.ts";
import { lockFolder } from "../../lib/base/files/folder-lock.ts";
import { Journal } from "../../lib/base/files/journal.ts";
import { readGguf } from "../../lib/base/gguf/gguf.ts";
import { readDataRows } from "../../lib/data/files/rows.ts";
import { unpack } from "../../lib/data/files/zip.ts";
import { Model } from "../../lib/model/model.ts";
import { readPeftConfig } from "../../lib/model/peft-config.ts";
import { readSafetensorsHeader } from "../../lib/model/safetensors.ts";
import { Bm25Index } from "../../lib/search/bm25.ts";
import { PassageStore } from "../../lib/search/corpus/passage-store.ts";
import { readDocuments } from "../../lib/search/corpus/read-documents.ts";
import { buildIndex } from "../../lib/search/index-folder/build/build.ts";
import { readRemovedRows } from "../../lib/search/index-folder/change/removed-rows.ts";
import { listFiles } from "../../lib/search/index-folder/manifest.ts";
import { needManifest, openIndex } from "../../lib/search/index-folder/open.ts";
import { VectorIndex } from "../../lib/search/vector-index.ts";
import { VectorRowsWriter } from "../../lib/search/vector-rows-writer.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { copyTokenizer } from "../../lib/text/tokenizers/copy-tokenizer.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { latestCheckpoint } from "../../lib/train/run/checkpoint.ts";
import { runCli } from "../cli/run-cli.ts";
import { projectRoot } from "../project.ts";

const root = await mkdtemp(join(tmpdir(), "seekrl-odd-"));
after(() => rm(root, { recursive: true, force: true }));

async function all<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of items) found.push(item);
  return found;
}

/** A reader, the file that is something else, and what must stand beside it. */
type Reader = readonly [file: string, read: (folder: string) => Promise<unknown>, beside?: readonly string[]];

const status = (folder: string): Promise<unknown> => new RunFolder(folder).status();
const at =
  (name: string, read: (path: string) => Promise<unknown>) =>
  (folder: string): Promise<unknown> =>
    read(join(folder, name));

const readers: readonly Reader[] = [
  // A run.
  ["config.yaml", readConfig],
  ["config.yaml", status, ["metrics.jsonl"]],
  ["metrics.jsonl", status],
  ["lock", status, ["metrics.jsonl"]],
  ["history.jsonl.lock", status, ["metrics.jsonl"]],
  ["trajectories.jsonl", (folder) => new RunFolder(folder).trajectories.refresh(), ["metrics.jsonl"]],
  ["checkpoints/step-000001/state.json", status, ["metrics.jsonl"]],
  ["checkpoints/step-000001/state.json", (folder) => latestCheckpoint(join(folder, "checkpoints"))],
  ["lock", lockFolder],
  ["metrics.jsonl", at("metrics.jsonl", (path) => Journal.open(path, 0))],
  ["results.jsonl", at("results.jsonl", (path) => new EvaluationFile(path).refresh())],
  // A model or an adapter.
  ["config.json", (folder) => Model.load(folder)],
  ["model.safetensors", at("model.safetensors", readSafetensorsHeader)],
  ["model.safetensors.index.json", (folder) => Model.load(folder), ["config.json"]],
  ["model.gguf", at("model.gguf", readGguf)],
  ["tokenizer.json", (folder) => Tokenizer.load(folder)],
  ["tokenizer.model", (folder) => Tokenizer.load(folder)],
  ["tokenizer_config.json", (folder) => Tokenizer.load(folder), ["tokenizer.json"]],
  ["tokenizer.json", (folder) => copyTokenizer(folder, join(folder, "copy"))],
  ["chat_template.jinja", (folder) => ChatTemplate.load(folder)],
  ["chat_templates/default.jinja", (folder) => ChatTemplate.load(folder)],
  ["adapter_config.json", readPeftConfig],
  ["world.json", readWorldFile],
  // An index.
  ["manifest.json", (folder) => openIndex(folder)],
  ["removed.bin", at("removed.bin", readRemovedRows)],
  ["passages.bin", at("passages.bin", (path) => PassageStore.open(path))],
  ["bm25.bin", at("bm25.bin", (path) => Bm25Index.open(path))],
  ["rows.bin", at("rows.bin", (path) => VectorIndex.open(path, { kind: "exact" }))],
  [
    "rows.bin.part",
    at("rows.bin", (path) => VectorRowsWriter.open(path, { dim: 8, metric: "cos", dtype: "f32" })),
  ],
  // Data.
  ["documents.jsonl", (folder) => all(readDocuments(folder))],
  ["rows.parquet", at("rows.parquet", (path) => all(readDataRows(path, ["a"])))],
  ["rows.json", at("rows.json", (path) => all(readDataRows(path, ["a"])))],
  ["data.zip", at("data.zip", (archive) => unpack({ archive }, { folder: root }))],
  ["any", at("any", digestOfFile)],
  // Files that options name.
  ["tools.yaml", at("tools.yaml", readToolsFile)],
  ["judge.txt", at("judge.txt", (path) => readPrompt(path))],
];

async function place(file: string, beside: readonly string[] = []): Promise<string> {
  const folder = await mkdtemp(join(root, "case-"));
  await mkdir(dirname(join(folder, file)), { recursive: true });
  for (const name of beside) await writeFile(join(folder, name), name.endsWith(".json") ? "{}" : "");
  return folder;
}

/** Lets go whoever waits for a writer, so that a reader that hangs costs its own test alone. */
function release(fifo: string): void {
  try {
    closeSync(openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK));
  } catch {}
}

for (const [i, [file, read, beside]] of readers.entries()) {
  test(`a FIFO in the place of ${file} is refused at once, by reader ${i + 1}`, async (t: TestContext) => {
    const folder = await place(file, beside);
    const fifo = join(folder, file);
    execFileSync("mkfifo", [fifo]);
    const releasing = setInterval(() => release(fifo), 2000);
    t.after(() => clearInterval(releasing));
    const pattern = { code: "ERR_IO", message: /: expected a file, got a FIFO/ };
    await assert.rejects(read(folder), pattern);
  });
}

test("a FIFO in the place of any file of a built index is told", async (t) => {
  const out = join(await mkdtemp(join(root, "index-")), "index");
  const corpus = [{ id: "a", title: "A", text: "one word" }];
  await buildIndex({ corpus, out, dense: { dim: 32 } });
  const files = listFiles(await needManifest(out)).map(([path]) => join(out, path));
  assert.ok(files.length >= 4);
  for (const file of files) {
    await rename(file, `${file}.kept`);
    execFileSync("mkfifo", [file]);
    const releasing = setInterval(() => release(file), 2000);
    t.after(() => clearInterval(releasing));
    const pattern = { code: "ERR_IO", message: `${file}: expected a file, got a FIFO` };
    await assert.rejects(openIndex(out), pattern);
    await rename(`${file}.kept`, file);
  }
});

test("a socket, a device and a folder are told by what they are", async (t) => {
  const folder = await mkdtemp(join(root, "kinds-"));
  const server = createServer().listen(join(folder, "socket"));
  t.after(() => server.close());
  await symlink("/dev/zero", join(folder, "device"));
  await mkdir(join(folder, "folder"));
  const words = { socket: "a socket", device: "a device", folder: "a folder" };
  for (const [name, kind] of Object.entries(words)) {
    const expected = { code: "ERR_IO", message: new RegExp(`${name}: expected a file, got ${kind}`) };
    await assert.rejects(digestOfFile(join(folder, name)), expected);
    await assert.rejects(PassageStore.open(join(folder, name)), expected);
  }
});

test("runs show says what it met in a run's folder", async () => {
  const folder = await place("config.yaml", ["metrics.jsonl"]);
  execFileSync("mkfifo", [join(folder, "config.yaml")]);
  const releasing = setInterval(() => release(join(folder, "config.yaml")), 2000);
  const { code, stderr } = await runCli("runs", "show", folder);
  clearInterval(releasing);
  assert.equal(code, 1);
  assert.match(stderr, /^ERR_IO: \S+config\.yaml: expected a file, got a FIFO/m);
});

test("no log, lock or part is written through a link: what it leads to stays as it was", async () => {
  const folder = await mkdtemp(join(root, "links-"));
  const own = join(folder, "own.txt");
  await writeFile(own, "mine\n");
  for (const name of ["lock", "log.jsonl", "rows.bin.part"]) await symlink(own, join(folder, name));
  const refused = { code: "ERR_IO", message: /expected a file, got a link/ };
  await assert.rejects(lockFolder(folder), refused);
  await assert.rejects(Journal.open(join(folder, "log.jsonl"), 0), refused);
  const format = { dim: 8, metric: "cos", dtype: "f32" } as const;
  await assert.rejects(VectorRowsWriter.open(join(folder, "rows.bin"), format), refused);
  assert.equal(await readFile(own, "utf8"), "mine\n");
});

test("a file of the hub's cache is read through its link, and copied as what it leads to", async () => {
  const folder = await mkdtemp(join(root, "hub-"));
  await mkdir(join(folder, "blobs"));
  await mkdir(join(folder, "snapshots/one"), { recursive: true });
  const tokenizer = await readFile(join(projectRoot, "world/checkpoint/tokenizer.json"));
  await writeFile(join(folder, "blobs/abc"), tokenizer);
  await symlink("../../blobs/abc", join(folder, "snapshots/one/tokenizer.json"));
  const { vocabSize } = await Tokenizer.load(join(folder, "snapshots/one"));
  assert.ok(vocabSize > 0);
  await copyTokenizer(join(folder, "snapshots/one"), join(folder, "copy"));
  assert.ok(tokenizer.equals(await readFile(join(folder, "copy/tokenizer.json"))));
});

test("no file of a run is read through a link that leads out of its folder", async () => {
  const folder = await mkdtemp(join(root, "out-"));
  const run = join(folder, "run");
  await mkdir(join(run, "checkpoints/step-000001"), { recursive: true });
  await writeFile(join(folder, "outside"), 'steps: 3\n{"step":1}\n');
  await writeFile(join(run, "metrics.jsonl"), "");
  for (const name of ["config.yaml", "trajectories.jsonl", "checkpoints/step-000001/state.json", "lock"]) {
    await symlink(join(folder, "outside"), join(run, name));
    const { trajectories } = new RunFolder(run);
    const reading = name === "trajectories.jsonl" ? trajectories.refresh() : status(run);
    await assert.rejects(reading, { code: "ERR_IO", message: /expected a file of .*, got a link out of it/ });
    await rm(join(run, name));
  }
});

test("a run's model folder with a link out of it gives no tokenizer; one within it does", async () => {
  const run = await mkdtemp(join(root, "model-"));
  await mkdir(join(run, "model"));
  await writeFile(join(run, "own.json"), "{}");
  const link = join(run, "model/tokenizer.json");
  await symlink(join(run, "own.json"), link);
  assert.deepEqual(await new RunFolder(run).modelFolders(), [join(run, "model")]);
  await rm(link);
  await symlink(join(projectRoot, "package.json"), link);
  assert.ok(existsSync(link));
  assert.deepEqual(await new RunFolder(run).modelFolders(), []);
});

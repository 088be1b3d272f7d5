/** Models pushed to a hub: which files, from where, and what is refused before anything is sent. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, test } from "node:test";
import { pushModel } from "../../apps/push/push-model.ts";
import { fetchModel } from "../../connectors/remote/hub/fetch-model.ts";
import { lockFolder } from "../../lib/base/files/folder-lock.ts";
import { startPushHub } from "../connectors/remote/hub/push-hub.ts";
import { modelFiles, writeAdapter, writeFiles, writeRun } from "./pushed-things.ts";

const id = "acme/tiny";

let root = "";
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "seekrl-push-"));
});
afterEach(() => rm(root, { recursive: true }));

const dry = (folder: string, options: object = {}) => pushModel(folder, id, { dryRun: true, ...options });
const namesOf = ({ files }: { files: readonly { name: string }[] }): string[] =>
  files.map(({ name }) => name);

test("a pushed run is fetched as its final model, byte for byte, with a card beside it", async () => {
  await using hub = await startPushHub(id);
  const run = await writeRun(join(root, "run"));
  const { commit, card, url } = await pushModel(run, id, { endpoint: hub.url, token: "mine" });
  assert.equal(url, `${hub.url}/${id}`);
  const cache = join(root, "cache");
  const fetched = await fetchModel(id, { endpoint: hub.url, token: "", cache, offline: false });
  assert.equal(fetched.commit, commit);
  for (const [name, content] of Object.entries(modelFiles))
    assert.deepEqual(await readFile(join(fetched.path, name)), content, name);
  assert.equal(hub.files.get("README.md")?.toString(), card);
  assert.match(hub.commits[0]?.summary ?? "", /^Model of SeekRL \d/);
});

test("only what a model is read from is sent; the rest is named", async () => {
  const folder = await writeFiles(join(root, "m"), {
    ...modelFiles,
    ".env": "KEY=1",
    "notes.py": "",
    LICENSE: "MIT",
  });
  await writeFiles(folder, { "trainer.safetensors": "x", "state.json": "{}", "optimizer.pt": "x" });
  const pushed = await dry(folder);
  assert.deepEqual(namesOf(pushed).sort(), ["LICENSE", "README.md", ...Object.keys(modelFiles)].sort());
  assert.deepEqual(pushed.leftOut, [".env", "notes.py", "optimizer.pt", "state.json", "trainer.safetensors"]);
  assert.equal(pushed.commit, undefined);
});

test("links count as what they lead to in the hub's cache and within a run", async () => {
  const cached = join(root, "models--acme--tiny");
  const blobs = await writeFiles(join(cached, "blobs"), modelFiles);
  const snapshot = join(cached, "snapshots", "c".repeat(40));
  await mkdir(snapshot, { recursive: true });
  for (const name of Object.keys(modelFiles)) await symlink(join(blobs, name), join(snapshot, name));
  assert.equal(namesOf(await dry(snapshot)).length, 4);
  const run = await writeRun(join(root, "run"));
  await writeFiles(run, { LICENSE: "MIT" });
  await symlink("../LICENSE", join(run, "model", "LICENSE"));
  assert.ok(namesOf(await dry(run)).includes("LICENSE"));
});

test("nothing is sent that a link out of the folder leads to", async () => {
  const outside = await writeFiles(join(root, "outside"), { id_rsa: "KEY" });
  const [run, folder] = [await writeRun(join(root, "run")), await writeFiles(join(root, "m"), modelFiles)];
  const snapshot = await writeFiles(join(root, "models--a--b", "snapshots", "x"), modelFiles);
  const refused = { code: "ERR_IO", message: /got a link out of it, to \S*outside/ };
  for (const name of ["README.md", "LICENSE-MIT", "merges.txt", "chat_template.jinja"])
    for (const place of [join(run, "model"), folder, snapshot]) {
      await symlink(join(outside, "id_rsa"), join(place, name));
      await assert.rejects(dry(place), refused, `${place}/${name}`);
      await rm(join(place, name));
    }
  await symlink(outside, join(folder, "1_Pooling"));
  assert.ok(!namesOf(await dry(folder)).some((name) => name.includes("id_rsa")));
  await rm(join(run, "model"), { recursive: true });
  await symlink(folder, join(run, "model"));
  await assert.rejects(dry(run), { code: "ERR_IO", message: /got a link out of it/ });
});

test("a README.md of one's own is taken as it is, and no option may say more", async () => {
  const folder = await writeFiles(join(root, "m"), { ...modelFiles, "README.md": "my words" });
  assert.equal((await dry(folder)).card, "my words");
  const message = /license: expected none, since .* has a README.md.*Remedy/;
  await assert.rejects(dry(folder, { license: "mit" }), { code: "ERR_ARGUMENT", message });
});

test("an adapter's model is named without the path of this machine", async () => {
  const folder = await writeAdapter(join(root, "a"), "/home/me/models/qwen");
  await using hub = await startPushHub(id);
  const { card } = await pushModel(folder, id, { endpoint: hub.url, token: "mine" });
  const sent = JSON.parse(hub.files.get("adapter_config.json")?.toString() ?? "");
  assert.equal(sent.base_model_name_or_path, "qwen");
  assert.equal(sent.r, 2);
  assert.doesNotMatch(card, /home/);
});

test("a folder that holds no whole model is refused before anybody is asked", async () => {
  await using hub = await startPushHub(id);
  const cut = await writeFiles(join(root, "cut"), modelFiles);
  await writeFile(join(cut, "model.safetensors"), modelFiles["model.safetensors"].subarray(0, 9_000));
  const bare = await writeFiles(join(root, "bare"), { "config.json": "{}" });
  const empty = await writeFiles(join(root, "empty"), { "notes.txt": "" });
  const cases = [
    [join(root, "none"), "ERR_IO", /none: cannot be read/],
    [join(cut, "config.json"), "ERR_FORMAT", /expected a folder, got a file\. Remedy/],
    [cut, "ERR_FORMAT", /model.safetensors/],
    [bare, "ERR_IO", /holds neither model.safetensors/],
    [empty, "ERR_FORMAT", /expected config.json or adapter_config.json, got neither. Remedy/],
  ] as const;
  for (const [folder, code, message] of cases)
    await assert.rejects(pushModel(folder, id, { endpoint: hub.url, token: "mine" }), { code, message });
  assert.deepEqual(hub.steps, []);
});

test("a run that has not ended is refused with what can be pushed instead; its checkpoint is sent without its state", async () => {
  const run = await writeRun(join(root, "run"), { steps: 9 });
  const checkpoint = join(run, "checkpoints", "step-000002");
  await writeFiles(checkpoint, { ...modelFiles, "trainer.safetensors": "x", "state.json": "{}" });
  await symlink("step-000002", join(run, "checkpoints", "best"));
  const message = /expected a final model, got a run at step 4 of 9. Remedy: .*checkpoints\/best/;
  for (const folder of [run, join(run, "model")])
    await assert.rejects(dry(folder), { code: "ERR_STATE", message });
  const pushed = await dry(join(run, "checkpoints", "best"));
  assert.deepEqual(pushed.leftOut, ["state.json", "trainer.safetensors"]);
  assert.match(pushed.card, /\| steps \| 2 of 9 \|/);
  assert.match(pushed.card, /step 2 \| 0\.250 \| 0\.375 \|/);
});

test("a run that somebody works on is refused with who does", async () => {
  const run = await writeRun(join(root, "run"));
  using _lock = await lockFolder(run);
  const message = new RegExp(`step 4 that process ${process.pid} on .* works on`);
  await assert.rejects(dry(run), { code: "ERR_STATE", message });
});

test("names that are none of a model's repository are refused", async () => {
  const folder = await writeFiles(join(root, "m"), modelFiles);
  for (const to of [
    "tiny",
    "datasets/acme/tiny",
    "datasets/tiny",
    "hf://acme/tiny",
    "acme/tiny@v1",
    "a/b/c",
    "",
  ])
    await assert.rejects(pushModel(folder, to, { dryRun: true }), { code: "ERR_ARGUMENT" }, to);
});

test("an aborted push commits nothing", async () => {
  await using hub = await startPushHub(id);
  const run = await writeRun(join(root, "run"));
  const stop = new AbortController();
  hub.onStored = () => stop.abort();
  const pushed = pushModel(run, id, { endpoint: hub.url, token: "mine", signal: stop.signal });
  await assert.rejects(pushed, { code: "ERR_ABORTED" });
  assert.equal(hub.commits.length, 0);
});

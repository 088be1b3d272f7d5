/** Disks that are full or read-only: one error that names folder, reason and remedy, and nothing half written. */
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fetchModel } from "../../../connectors/remote/hub/fetch-model.ts";
import { startModelHub } from "../../connectors/remote/hub/model-hub.ts";
import { projectRoot } from "../../project.ts";
import { fakeIndex, wheelsOfCuda13 } from "../../setup/fake-torch.ts";
import { skip as skipCuda } from "../../setup/machine.ts";
import { type Disk, disk, type Outcome, scratch, skip } from "./disks.ts";

const cli = join(projectRoot, "bin", "seekrl.mjs");
const reasons = {
  full: (folder: string) =>
    `no space left for it on the file system of ${folder}\\S* \\(\\S+ [MG]B free\\)\\. Remedy: make room, or `,
  readOnly: (folder: string) => `${folder}\\S* is on a read-only file system\\. Remedy: `,
};
type Kind = keyof typeof reasons;

/** One line of standard error is the error: typed, with the reason; no stack, and only files that locks are. */
function refused({ code, stderr, files }: Outcome, kind: Kind, { folder }: Disk, remedy: string): void {
  const lines = stderr.trimEnd().split("\n");
  const errors = lines.filter((line) => line.startsWith("ERR_"));
  assert.equal(code, 1, stderr);
  assert.equal(errors.length, 1, stderr);
  assert.match(lines.at(-1) ?? "", new RegExp(`^ERR_IO: .*${reasons[kind](folder)}${remedy}$`));
  assert.deepEqual(
    lines.filter((line) => /^ {4}at |refused-write/.test(line)),
    [],
  );
  assert.deepEqual(
    files.filter((file) => !/(^|\/)lock$/.test(file)),
    [],
  );
}

const corpus = join(scratch, "corpus.jsonl");
await writeFile(corpus, '{"id":"1","title":"Louvre","contents":"A museum in Paris."}\n');
const elsewhere = "name a folder on another file system";

for (const kind of ["full", "readOnly"] as const) {
  test(`an index and the demo on a ${kind} disk are refused with the folder and a remedy`, {
    skip,
  }, async () => {
    const place = await disk(kind, 0);
    const out = join(place.folder, "out");
    refused(
      await place.run([cli, "index", "build", "--corpus", corpus, "--out", out]),
      kind,
      place,
      elsewhere,
    );
    refused(await place.run([cli, "demo", "--quick", "--out", out]), kind, place, elsewhere);
  });

  test(`a model that is fetched into a ${kind} cache names the variable that moves it`, {
    skip,
  }, async () => {
    await using hub = await startModelHub("acme/tiny", { "config.json": Buffer.from("{}"), ...weights });
    const place = await disk(kind, 4);
    const env = { HF_HUB_CACHE: place.folder, HF_ENDPOINT: hub.url };
    const outcome = await place.run([cli, "generate", "--model", "acme/tiny", "--prompt", "x"], env);
    if (kind === "readOnly") refused(outcome, kind, place, "set HF_HUB_CACHE to .*");
    else
      assert.match(
        outcome.stderr,
        /ERR_IO: .*models--acme--tiny: expected room for 0\.1 MB, got 0\.0 MB\. Remedy: make room, or set HF_HUB_CACHE to a folder on another file system$/m,
      );
    assert.deepEqual(
      outcome.files.filter((file) => /snapshots|blobs/.test(file)),
      [],
    );
  });

  test(`setup cuda names a ${kind} cache and the variable that moves it`, {
    skip: skip || skipCuda,
  }, async () => {
    const index = await fakeIndex({ cu130: await wheelsOfCuda13(scratch) });
    const place = await disk(kind, 0);
    const args = [cli, "setup", "cuda", "--build", "cu130", "--index", index.url];
    const outcome = await place.run(args, { SEEKRL_CACHE: join(place.folder, "cache") });
    index.close();
    if (kind === "readOnly") refused(outcome, kind, place, "set SEEKRL_CACHE to .*");
    else
      assert.match(
        outcome.stderr,
        /^ERR_IO: \S*cache: expected room for .*, got 0\.0 MB\. Remedy: make room, or set SEEKRL_CACHE to a folder/m,
      );
  });
}

const weights = { "model.safetensors": Buffer.alloc(64 << 10, 1) };

test("a model that a read-only cache holds is used as it is", { skip }, async () => {
  await using hub = await startModelHub("acme/tiny", { "config.json": Buffer.from("{}"), ...weights });
  const place = await disk("readOnly");
  await fetchModel("acme/tiny", { endpoint: hub.url, token: "", cache: place.folder, offline: false });
  const code = `const { fetchModel } = await import(${JSON.stringify(join(projectRoot, "dist/connectors/remote/hub/fetch-model.js"))});
    const { numBytes } = await fetchModel("acme/tiny", { endpoint: "${hub.url}", cache: "${place.folder}" });
    console.log(numBytes);`;
  const { stdout, stderr } = await place.run(["--input-type=module", "-e", code]);
  assert.equal(stdout, "0\n", stderr);
});

const saves = {
  model: "model.save(folder)",
  checkpoint: `writeCheckpoint(folder, { step: 1, state: {}, write: (inside) => model.save(inside + "/model") })`,
};

for (const [name, save] of Object.entries(saves))
  for (const kind of ["full", "readOnly"] as const)
    test(`a ${name} on a ${kind} disk leaves nothing under its name`, { skip }, async () => {
      const place = await disk(kind, 64);
      const code = `const { Model } = await import("${join(projectRoot, "dist/lib/model/model.js")}");
        const { writeCheckpoint } = await import("${join(projectRoot, "dist/lib/train/run/checkpoint.js")}");
        const shape = { vocabSize: 512, hiddenSize: 64, intermediateSize: 96, numLayers: 2, numHeads: 2, numKvHeads: 1, maxPosition: 64 };
        const model = await Model.create(shape, { seed: 1, std: 0.1 });
        const folder = "${join(place.folder, "out")}";
        await ${save}.catch(({ code, message }) => console.error(code + ": " + message));
        process.exitCode = 1;`;
      refused(await place.run(["--input-type=module", "-e", code]), kind, place, elsewhere);
    });

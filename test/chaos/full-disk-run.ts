/** A program that fills its disk before each save and looks at what is left: `full-disk-run.js CASE`, DISK names the disk. */
import assert from "node:assert/strict";
import { readdir, readFile, rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { writeJsonLines } from "../../lib/data/files/jsonl.ts";
import { buildIndex } from "../../lib/search/index-folder/build/build.ts";
import { addToIndex } from "../../lib/search/index-folder/change/edit.ts";
import { mergeIndexes } from "../../lib/search/index-folder/change/merge.ts";
import { indexInfo } from "../../lib/search/index-folder/info.ts";
import { algorithms } from "../../lib/train/algorithm/algorithm.ts";
import { killedPassages } from "../search/index-folder/killed.ts";
import { runBandit } from "../train/run/rl-run.ts";
import { saveVariant } from "./save-run.ts";

const disk = process.env.DISK ?? "";
const others = join(disk, "others");
const folder = join(disk, "out");
const { first, second } = killedPassages();

/** Leaves so many bytes free. */
async function fill(bytesLeft: number): Promise<void> {
  const { bavail, bsize } = await statfs(disk);
  await writeFile(others, Buffer.alloc(Math.max(0, bavail * bsize - bytesLeft)));
}

/** Every file that is not the filling, by its path. */
async function contentOf(): Promise<Record<string, string>> {
  const entries = await readdir(disk, { recursive: true, withFileTypes: true });
  const paths = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  const kept = paths.filter((path) => path !== others && !path.endsWith("lock")).sort();
  const read = async (path: string) => [path, (await readFile(path)).toString("latin1")] as const;
  return Object.fromEntries(await Promise.all(kept.map(read)));
}

interface Case {
  /** What is there before. */
  readonly begin?: () => Promise<unknown>;
  /** What needs room. */
  readonly save: () => Promise<unknown>;
  /** Bytes that are left for it. */
  readonly left: readonly number[];
  /** After each refusal; unless it is given, all files must be as they were. */
  readonly check?: () => Promise<unknown>;
}

const sizeIs = async (size: number): Promise<void> => {
  const { passages, problems } = await indexInfo(folder, { verify: "all" });
  assert.deepEqual([passages, problems], [size, []]);
};
const steps = 7;
let losses: number[] = [];
const train = (out: string) =>
  runBandit({
    ...{ algorithm: algorithms.ppo, steps, folder: out },
    onStep: (metrics) => void losses.push(metrics["loss/policy"] ?? 0),
  });

const cases: Readonly<Record<string, Case>> = {
  model: {
    begin: () => saveVariant("model", 0, folder),
    save: () => saveVariant("model", 1, folder),
    left: [0, 4096, 12_288],
  },
  adapter: {
    begin: () => saveVariant("adapter", 0, folder),
    save: () => saveVariant("adapter", 1, folder),
    left: [0, 4096, 8192],
  },
  rows: {
    begin: () => writeJsonLines(join(disk, "rows.jsonl"), [{ id: 1 }]),
    save: () =>
      writeJsonLines(
        join(disk, "rows.jsonl"),
        Array.from({ length: 9999 }, (_, id) => ({ id })),
      ),
    left: [0, 4096, 65_536],
  },
  addition: {
    begin: () => buildIndex({ corpus: first, out: folder }),
    save: () => addToIndex(folder, second),
    left: [0, 4096, 65_536],
    check: () => sizeIs(first.length),
  },
  merge: {
    begin: async () => {
      await buildIndex({ corpus: first, out: folder });
      await addToIndex(folder, second);
    },
    save: () => mergeIndexes([folder], folder),
    left: [0, 4096, 131_072],
    check: () => sizeIs(first.length + second.length),
  },
  training: {
    save: () => train(folder),
    left: [0, 16_384, 65_536],
    // Rows and checkpoints of the steps that were finished stay.
    check: async () => undefined,
  },
};

const { begin, save, left, check } = cases[process.argv[2] ?? ""] ?? assert.fail("a case");
await begin?.();
for (const bytes of left) {
  const before = await contentOf();
  await fill(bytes);
  await assert.rejects(save(), (error: Error & { code?: string }) => {
    assert.equal(error.code, "ERR_IO", error.stack);
    assert.match(error.message, /no space left .*Remedy: make room/);
    return true;
  });
  await rm(others);
  if (check === undefined) assert.deepEqual(await contentOf(), before, `${bytes} bytes were left`);
  else await check();
}
await save();
if (process.argv[2] === "training") {
  const file = join("checkpoints", "step-000007", "model.safetensors");
  const resumed = await readFile(join(folder, file));
  await rm(folder, { recursive: true });
  losses = [];
  await train(folder);
  assert.ok(resumed.equals(await readFile(join(folder, file))), "a resumed training has other weights");
}
process.stdout.write("done\n");

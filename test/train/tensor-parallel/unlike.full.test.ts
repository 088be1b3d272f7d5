/** What ranks that share a model all have must be the same on each: a fault is planted on one, and all say so. */
import assert from "node:assert/strict";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Model } from "../../../lib/model/model.ts";
import { latestCheckpoint } from "../../../lib/train/run/checkpoint.ts";
import { runRanks } from "../../comm/ranks.ts";
import { shapes } from "../../model/parallel/answers.ts";
import type { PlantedFault } from "./unlike-rank.ts";

let root = "";
const folderOf = (name: string): string => join(root, name);
/** What every rank adds to the residual stream by itself. */
const damagedWeight = "model.layers.0.self_attn.o_proj.bias";

/** Changes the last number of a weight in a copy of a model's folder. */
async function damage(from: string, to: string, name: string): Promise<void> {
  await cp(from, to, { recursive: true });
  const path = join(to, "model.safetensors");
  const bytes = await readFile(path);
  const size = Number(bytes.readBigUInt64LE());
  const header = JSON.parse(bytes.subarray(8, 8 + size).toString());
  const { data_offsets: ends } = header[name] as { data_offsets: [number, number] };
  const place = 8 + size + ends[1] - 4;
  bytes.writeFloatLE(bytes.readFloatLE(place) + 0.5, place);
  await writeFile(path, bytes);
}

before(async () => {
  root = await mkdtemp(join(tmpdir(), "seekrl-unlike-"));
  await using model = await Model.create(shapes.llama, { seed: 3, std: 0.3 });
  await model.save(folderOf("whole"));
  await damage(folderOf("whole"), folderOf("damaged"), damagedWeight);
});

after(() => rm(root, { recursive: true }));

/** What each of two ranks ends with. */
async function endsOf(read: PlantedFault["read"]): Promise<object[]> {
  const fault = { folder: folderOf("whole"), damaged: folderOf("damaged"), read, to: folderOf(read) };
  const ranks = await runRanks("./unlike-rank.js", import.meta.url, {
    ...{ size: 2, args: [JSON.stringify(fault satisfies PlantedFault)] },
  });
  assert.deepEqual(
    ranks.map(({ code, stderr }) => [code, stderr]),
    Array(2).fill([1, ""]),
  );
  return ranks.map(({ lines }) => lines.at(-1) as object);
}

function unlike(name: string): object[] {
  return [0, 1].map((rank) => ({
    code: "ERR_INTERNAL",
    message: `tensor parallelism: ${name}: expected the same numbers on all ranks, got others on rank ${rank} than on rank ${1 - rank}; start again from the last checkpoint`,
  }));
}

test("a weight that all ranks have, and one has otherwise, ends what reads it with its name on all", async () => {
  assert.deepEqual(await endsOf("weights"), unlike(damagedWeight));
});

test("a gradient of such a weight that one rank has otherwise is named on all ranks", async () => {
  assert.deepEqual(await endsOf("gradient"), unlike("the gradient of model.norm.weight"));
});

test("a training whose ranks have grown unlike ends at its checkpoint, which is not written", async () => {
  const [first, second] = (await endsOf("checkpoint")) as { code: string; message: string }[];
  for (const { code, message } of [first!, second!]) {
    assert.equal(code, "ERR_INTERNAL");
    assert.match(message, /^tensor parallelism: [a-z0-9._]+: expected the same numbers on all ranks/);
  }
  assert.equal(await latestCheckpoint(join(folderOf("checkpoint"), "checkpoints")), undefined);
});

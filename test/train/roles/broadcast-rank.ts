/** One rank of the test of weights that are broadcast: `node broadcast-rank.js model|adapter|GPU DTYPE`, with torchrun's variables. */
import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { native } from "../../../lib/base/addon/native.ts";
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { Model } from "../../../lib/model/model.ts";
import { broadcastWeights } from "../../../lib/train/learner/broadcast-weights.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { shapes } from "../../gpu/models.ts";
import { filled, tinyModel, tinySequence } from "../tiny.ts";

const [what, dtype] = process.argv.slice(2) as ["model" | "adapter" | "gpu", Model["dtype"]];
const { RANK, WORLD_SIZE, MASTER_PORT } = process.env;
const [rank, root] = [Number(RANK), 1];
/** The emulated one. */
async function gpuModel(): Promise<Model> {
  await native().setNumThreads(1);
  const shape = shapes["biases and a tied head"]!;
  return Model.create(shape, { device: "emulated", dtype, seed: rank });
}

await using processGroup = await ProcessGroup.open({
  ...{ rank, size: Number(WORLD_SIZE), port: Number(MASTER_PORT) },
});
// Other weights on each rank, but for the model under an adapter.
await using model = await (what === "gpu" ? gpuModel() : tinyModel(what === "model" ? rank : 7, dtype));
const policy = what === "adapter" ? await Adapter.create(model, { rank: 2, seed: rank }) : model;
await using engine = await Engine.open(model, { numBlocks: 20, blockTokens: 16 });
const sequence = engine.open(Int32Array.of(1, 2, 3), policy instanceof Adapter ? { adapter: policy } : {});
await sequence.generate({ maxTokens: 1, temperature: 0 });
if (rank === root) {
  await using trainer = await Trainer.open(policy);
  const trained = tinySequence(3, 12);
  for (const learningRate of [0.1, 0.1]) {
    await trainer.accumulate([{ ...trained, weights: filled(trained.rows.length, () => 1) }]);
    await trainer.step({ learningRate });
  }
}
await broadcastWeights(policy, processGroup, root);
const folder = await mkdtemp(join(tmpdir(), "seekrl-"));
await policy.save(folder);
const file = what === "adapter" ? "adapter_model.safetensors" : "model.safetensors";
const weights = createHash("sha256")
  .update(await readFile(join(folder, file)))
  .digest("hex");
await rm(folder, { recursive: true });
sequence.truncate(3);
const { ids, logprobs, weightsVersion } = await sequence.generate({ maxTokens: 4, temperature: 0 });
const told = { ids: [...ids], logprobs: [...logprobs], weightsVersion, weights };
process.stdout.write(`${JSON.stringify({ ...told, version: policy.weightsVersion })}\n`);

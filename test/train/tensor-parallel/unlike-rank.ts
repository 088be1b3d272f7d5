/** One rank of a model of which rank 1 has read a damaged copy: `node unlike-rank.js FAULT`, as JSON. */
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Model } from "../../../lib/model/model.ts";
import { Trainer } from "../../../lib/train/learner/trainer.ts";
import { sft } from "../../../lib/train/sft.ts";
import { filled } from "../tiny.ts";

/** Which of two folders rank 1 loads, and what rank 0 then asks for. */
export interface PlantedFault {
  readonly folder: string;
  readonly damaged: string;
  readonly read: "weights" | "gradient" | "checkpoint";
  /** Of what is written. */
  readonly to: string;
}

const { RANK = "0", WORLD_SIZE = "1", MASTER_PORT = "1" } = process.env;
const rank = Number(RANK);
const { folder, damaged, read, to } = JSON.parse(process.argv[2]!) as PlantedFault;
const batch = [{ tokens: Int32Array.of(5, 6, 7, 8), rows: Int32Array.of(1, 2), weights: filled(2, () => 1) }];

async function lead(model: Model): Promise<void> {
  if (read === "weights") return await model.save(to);
  await using trainer = await Trainer.open(model);
  if (read === "gradient") {
    await trainer.accumulate(batch);
    await trainer.gradient("model.norm.weight");
    return;
  }
  const run = { folder: to, checkpointEvery: 1 };
  await sft({ trainer, steps: 1, learningRate: () => 1e-3, batch: () => batch, run });
}

const group = await ProcessGroup.open({
  ...{ rank, size: Number(WORLD_SIZE), port: Number(MASTER_PORT), patienceMs: 4000 },
});
try {
  await using model = await Model.load(rank === 1 ? damaged : folder, { tensorParallel: group });
  await (rank === 0 ? lead(model) : model.follow());
} catch (error) {
  const { code, message } = error as { code?: string; message: string };
  process.stdout.write(`${JSON.stringify({ code, message })}\n`);
  group.fail(error);
  process.exitCode = 1;
}
await group.close();

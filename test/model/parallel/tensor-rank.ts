/** One rank of the tests of tensor parallelism: loads each folder of its argument and tells what the model answers. */
import { ProcessGroup } from "../../../lib/comm/process-group.ts";
import { Engine } from "../../../lib/engine/engine.ts";
import { Adapter } from "../../../lib/model/adapter.ts";
import { type LoadOptions, Model } from "../../../lib/model/model.ts";
import { Critic } from "../../../lib/train/learner/critic.ts";
import { scoreSequences, Trainer } from "../../../lib/train/learner/trainer.ts";
import { adaptedAnswersOf, answersOf, shapes } from "./answers.ts";

/** What is asked of the ranks. */
export type Wanted =
  | { readonly what: "answers"; readonly folder: string; readonly options: LoadOptions }
  | { readonly what: "refusals"; readonly folder: string }
  | { readonly what: "save"; readonly folder: string; readonly to: string }
  | {
      readonly what: "adapted";
      readonly folder: string;
      readonly adapters: readonly string[];
      /** An adapter with a number of the last rank's slice that is none. */
      readonly damaged: string;
      readonly to: string;
    }
  | { readonly what: "death"; readonly folder: string };

const rank = Number(process.env["RANK"]);
const tell = (line: unknown): boolean => process.stdout.write(`${JSON.stringify(line)}\n`);
const failed = (error: unknown) => ({
  code: (error as { code?: string }).code,
  message: (error as Error).message,
});
const refusal = (promise: Promise<unknown>) => promise.then(() => "none", failed);

/** What a training is refused on all ranks alike, and that it goes on. */
async function refusedSteps(model: Model) {
  await using trainer = await Trainer.open(model);
  const sequence = { tokens: Int32Array.of(1, 2, 3), rows: Int32Array.of(0), weights: Float32Array.of(1) };
  const huge = [{ ...sequence, weights: Float32Array.of(3e38) }];
  const refused = [await refusal(trainer.accumulate([sequence], { objective: "clipped" }))];
  await trainer.accumulate(huge);
  await trainer.accumulate(huge);
  refused.push(await refusal(trainer.step({ learningRate: 1e-3 })));
  await trainer.accumulate([sequence]);
  const { gradNorm } = await trainer.step({ learningRate: 1e-3 });
  return [...refused, { code: gradNorm > 0 ? "went on" : "stood still" }];
}

async function lead(model: Model, wanted: Wanted): Promise<void> {
  if (wanted.what === "answers") tell(await answersOf(model));
  if (wanted.what === "save") {
    await model.save(wanted.to);
  }
  if (wanted.what === "adapted") {
    tell(await adaptedAnswersOf(model, wanted.adapters));
    await using adapter = await Adapter.load(model, wanted.adapters[0]!);
    tell(await refusal(adapter.read(wanted.damaged)));
    await adapter.save(wanted.to);
    await adapter.merge();
    tell((await model.scoreLogprobs(Int32Array.of(5, 6, 7))).slice(1));
  }
  if (wanted.what === "refusals") {
    const group = model.tensorParallel!;
    const sequence = { tokens: Int32Array.of(1, 2, 3), rows: Int32Array.of(0) };
    tell([
      await refusal(model.follow()),
      await refusal(Trainer.open(model, { processGroup: group })),
      await refusal(Trainer.open(model, { zero: 1 })),
      await refusal(Trainer.open(model, { gradientShards: 2 })),
      await refusal(Critic.open(model, { moments: "8-bit" })),
      await refusal(scoreSequences(model, [sequence], { processGroup: group })),
    ]);
    tell(await refusedSteps(model));
  }
  if (wanted.what === "death") {
    tell("ready");
    await using engine = await Engine.open(model);
    const sequence = engine.open([1, 2, 3]);
    for (;;) await sequence.generate({ maxTokens: 1, temperature: 0 }).then(() => sequence.truncate(3));
  }
}

async function follow(model: Model, { what }: Wanted): Promise<void> {
  if (what === "refusals") {
    tell([await refusal(model.scoreLogprobs(Int32Array.of(1, 2))), await refusal(Engine.open(model))]);
  }
  if (what === "death" && rank === 1) process.kill(process.pid, "SIGKILL");
  await model.follow();
}

async function work(group: ProcessGroup): Promise<void> {
  for (const wanted of JSON.parse(process.argv[2] ?? "[]") as Wanted[]) {
    const options = wanted.what === "answers" ? wanted.options : {};
    const model = await Model.load(wanted.folder, { ...options, tensorParallel: group });
    await (rank === 0 ? lead(model, wanted) : follow(model, wanted));
    model.close();
    if (wanted.what === "refusals")
      tell(await refusal(Model.create({ ...shapes.qwen2, numKvHeads: 1 }, { tensorParallel: group })));
  }
}

const { WORLD_SIZE, MASTER_PORT } = process.env;
const group = await ProcessGroup.open({
  ...{ rank, size: Number(WORLD_SIZE), port: Number(MASTER_PORT), patienceMs: 3000 },
});
try {
  await work(group);
  await group.close();
} catch (error) {
  tell(failed(error));
  group.fail(error);
  await group.close();
  process.exitCode = 1;
}

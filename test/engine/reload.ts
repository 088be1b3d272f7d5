/** A program that loads, uses and closes one folder over and over and says its memory after each round, in bytes. */
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import { Trainer } from "../../lib/train/learner/trainer.ts";

/** The forms that the rounds take turns in. */
const forms = [
  { dtype: "float32" },
  { dtype: "bfloat16" },
  { dtype: "float32", weights: "int8" },
  { dtype: "bfloat16", weights: "nf4" },
] as const;

const [folder = "", numRounds] = process.argv.slice(2);
const tokens = Int32Array.from({ length: 24 }, (_, t) => (t * 31) % 97);

async function round(form: (typeof forms)[number]): Promise<void> {
  await using model = await Model.load(folder, form);
  await using engine = await Engine.open(model);
  await using adapter = await Adapter.create(model, { rank: 4 });
  const sequence = engine.open(tokens, { adapter });
  await sequence.generate({ maxTokens: 4 });
  sequence.close();
  await using trainer = await Trainer.open(adapter);
  await trainer.accumulate([{ tokens, rows: Int32Array.of(20), weights: Float32Array.of(1) }]);
  await trainer.step({ learningRate: 1e-3 });
}

await native().setNumThreads(1);
const sizes: number[] = [];
for (let i = 0; i < Number(numRounds); i += 1) {
  await round(forms[i % forms.length]!);
  globalThis.gc?.();
  sizes.push(process.memoryUsage.rss());
}
process.stdout.write(JSON.stringify(sizes));

/** A program that saves two models, or two adapters, over each other for ever: `save-run.js model|adapter FOLDER`. */
import { pathToFileURL } from "node:url";
import { Adapter } from "../../lib/model/adapter.ts";
import { Model } from "../../lib/model/model.ts";
import { tinyShape } from "../train/tiny.ts";

/** What is saved: numbers and config.json differ. */
export const variants = [0, 1] as const;

/** Saves one of them, a model in many files. */
export async function saveVariant(kind: string, variant: number, folder: string): Promise<void> {
  const shape = { ...tinyShape, ropeTheta: 10_000 * (1 + variant) };
  await using model = await Model.create(shape, { seed: variant, std: 0.2 });
  if (kind === "model") return await model.save(folder, { maxShardBytes: 2000 });
  await using adapter = await Adapter.create(model, { rank: 4, alpha: 8 * (1 + variant), seed: variant });
  await adapter.save(folder);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
  const [kind = "", folder = ""] = process.argv.slice(2);
  await saveVariant(kind, 0, folder);
  process.stdout.write("begin\n");
  for (let i = 1; ; i += 1) await saveVariant(kind, i % 2, folder);
}

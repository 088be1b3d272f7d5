/** A worker thread that tells when it is about to generate, generates with an engine of its own, and tells the ids. */
import { parentPort, workerData } from "node:worker_threads";
import { Engine } from "../../lib/engine/engine.ts";
import { tinyModel } from "../engine/models.ts";

const model = await tinyModel();
const engine = await Engine.open(model);
const { sequences, maxTokens } = workerData as { readonly sequences: number; readonly maxTokens: number };
parentPort?.postMessage("generates");
const spans = await Promise.all(
  Array.from({ length: sequences }, (_, seed) =>
    engine.open([1, 2, 3], { seed }).generate({ maxTokens, stopIds: [] }),
  ),
);
parentPort?.postMessage(spans.map(({ ids }) => [...ids]));
await engine.close();
model.close();

/** The log-probabilities of ids by models in folders, for sweep_configs.py: a JSON line in and out for each. */
import { createInterface } from "node:readline";
import { Model } from "../../../dist/lib/index.js";

async function answer({ folder, ids }) {
  try {
    const model = await Model.load(folder, { dtype: "float32", contextTokens: Math.max(1, ids.length) });
    const [, ...logprobs] = await model.scoreLogprobs(Int32Array.from(ids));
    await model.close();
    return { logprobs };
  } catch (error) {
    return { refusal: error.message };
  }
}

for await (const line of createInterface({ input: process.stdin }))
  process.stdout.write(`${JSON.stringify(await answer(JSON.parse(line)))}\n`);

/**
 * The transformers.js peer of bench/embed/embed.ts (onnxruntime-node below it): reads `passages N`, `even N` or `query I` lines,
 * answers with seconds. Run by the bench: node peer.mjs NODE_MODULES FOLDER TEXTS_JSON
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [, , packages, folder, textsFile] = process.argv;
const require = createRequire(join(packages, "..", "package.json"));
const { env, pipeline } = await import(pathToFileURL(require.resolve("@huggingface/transformers")).href);
env.allowRemoteModels = false;
env.localModelPath = dirname(folder);
const extract = await pipeline("feature-extraction", folder.slice(dirname(folder).length + 1), {
  dtype: "fp32",
  device: "cpu",
});
const texts = JSON.parse(readFileSync(textsFile, "utf8"));

/** Batches of 32, sorted by length as sentence-transformers does: transformers.js itself does not sort. */
async function embed(chosen) {
  const order = chosen.map((_, i) => i).sort((a, b) => chosen[b].length - chosen[a].length);
  const rows = [];
  for (let at = 0; at < order.length; at += 32) {
    const batch = order.slice(at, at + 32);
    const vectors = await extract(
      batch.map((i) => chosen[i]),
      { pooling: "mean", normalize: true },
    );
    const { dims, data } = vectors;
    for (const [row, i] of batch.entries()) rows[i] = data.subarray(row * dims[1], (row + 1) * dims[1]);
  }
  return rows;
}

for await (const line of createInterface({ input: process.stdin })) {
  const [what, index] = line.split(" ");
  const chosen = what === "query" ? [texts.queries[Number(index)]] : texts[what].slice(0, Number(index));
  const started = performance.now();
  const cpu = process.cpuUsage();
  const rows = await embed(chosen);
  const used = process.cpuUsage(cpu);
  const answer = { seconds: (performance.now() - started) / 1000, cpu: (used.user + used.system) / 1e6 };
  process.stdout.write(`${JSON.stringify({ ...answer, first: [...rows[0].subarray(0, 4)] })}\n`);
}

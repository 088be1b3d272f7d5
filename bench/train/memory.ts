/**
 * Which models train in 16, 24 and 80 GB, by the plan (lib/train/memory/plan.ts)? Prints the table of docs/training.md.
 *
 * `node dist/bench/train/memory.js [--tokens 2048]`
 */
import { parseArgs } from "node:util";
import { type DecoderConfig, decoderConfig } from "../../lib/model/config/config.ts";
import { type TrainingSizes, trainingMemory } from "../../lib/train/memory/plan.ts";

const { values } = parseArgs({ options: { tokens: { type: "string", default: "2048" } } });
const tokens = Number(values.tokens);

/** Qwen2.5's sizes. */
const models = [
  { name: "0.5B", sizes: [896, 4864, 24, 14, 2], tieEmbeddings: true },
  { name: "1.5B", sizes: [1536, 8960, 28, 12, 2], tieEmbeddings: true },
  { name: "3B", sizes: [2048, 11_008, 36, 16, 2], tieEmbeddings: true },
  { name: "7B", sizes: [3584, 18_944, 28, 28, 4], tieEmbeddings: false },
  { name: "14B", sizes: [5120, 13_824, 48, 40, 8], tieEmbeddings: false },
  { name: "32B", sizes: [5120, 27_648, 64, 40, 8], tieEmbeddings: false },
] as const;

/** Of an adapter of rank 16 on every projection. */
function adapterParameters({ hiddenSize: d, intermediateSize: i, ...config }: DecoderConfig): number {
  const [q, k] = [config.numHeads * config.headDim, config.numKvHeads * config.headDim];
  return 16 * config.numLayers * (2 * (d + q) + 2 * (d + k) + 3 * (d + i));
}

type Form = Pick<TrainingSizes, "dtype" | "moments" | "masterWeights" | "weights"> & {
  readonly isAdapter?: boolean;
};
const forms: readonly (Form & { name: string })[] = [
  { name: "f32", dtype: "float32" },
  { name: "bf16 and master", dtype: "bfloat16" },
  { name: "bf16 and master, 8-bit moments", dtype: "bfloat16", moments: "8-bit" },
  {
    name: "bf16 rounded at random, 8-bit moments",
    dtype: "bfloat16",
    moments: "8-bit",
    masterWeights: false,
  },
  { name: "adapter on bf16", dtype: "bfloat16", isAdapter: true },
  { name: "adapter on NF4", dtype: "bfloat16", weights: "nf4", isAdapter: true },
];

const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0);

const rows = models.map(({ name, sizes, tieEmbeddings }) => {
  const [hiddenSize, intermediateSize, numLayers, numHeads, numKvHeads] = sizes;
  const shape = { hiddenSize, intermediateSize, numLayers, numHeads, numKvHeads, tieEmbeddings };
  const config = decoderConfig({ ...shape, vocabSize: tieEmbeddings ? 151_936 : 152_064 });
  const cells = forms.map(({ isAdapter, ...form }) => {
    const own = isAdapter === true ? { adapterParameters: adapterParameters(config) } : {};
    const least = { config, ...form, ...own, batch: { tokens, rows: tokens }, activationBytes: 0 };
    const { total } = trainingMemory(least);
    const all = trainingMemory({ ...least, activationBytes: undefined }).total;
    const fits = [16, 24, 80].find((size) => total <= size * 1e9);
    return `${gigabytes(total)} to ${gigabytes(all)}${fits === undefined ? "" : ` (${fits})`}`;
  });
  return `| ${[name, ...cells].join(" | ")} |`;
});
const names = forms.map(({ name }) => name);
process.stdout.write(
  `${[`| model | ${names.join(" | ")} |`, `|---|${"---|".repeat(forms.length)}`, ...rows].join("\n")}\n`,
);

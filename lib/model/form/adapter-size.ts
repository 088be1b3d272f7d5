/** How many numbers a LoRA adapter has, before there is one. */
import { SeekError } from "../../base/errors.ts";
import type { DecoderConfig } from "../config/config.ts";

/** Rank of an adapter unless another is given. */
export const defaultRank = 16;

/** Projections of a layer and how many inputs and outputs each has. */
function projections(config: DecoderConfig): readonly (readonly [name: string, size: number])[] {
  const { hiddenSize: d, intermediateSize: i, numExperts } = config;
  const [q, k] = [config.numHeads * config.headDim, config.numKvHeads * config.headDim];
  const isMixtral = config.architecture === "MixtralForCausalLM";
  const block = isMixtral ? "block_sparse_moe" : "mlp";
  const [gate, up, down] = isMixtral ? ["w1", "w3", "w2"] : ["gate_proj", "up_proj", "down_proj"];
  const networks =
    numExperts === 0 ? [block] : Array.from({ length: numExperts }, (_, e) => `${block}.experts.${e}`);
  return [
    ["self_attn.q_proj", d + q],
    ["self_attn.k_proj", d + k],
    ["self_attn.v_proj", d + k],
    ["self_attn.o_proj", q + d],
    ...networks.flatMap((network) => [gate, up, down].map((name) => [`${network}.${name}`, d + i] as const)),
  ];
}

/** Whether a target is a projection's name in a layer, or what stands behind a dot of it. */
const isTarget = (name: string, layer: number, target: string): boolean =>
  `.model.layers.${layer}.${name}`.endsWith(`.${target}`);

/** Refuses a target that no projection has. @throws ERR_ARGUMENT with those that there are */
export function checkTargets(config: DecoderConfig, targets: readonly string[]): void {
  const names = projections(config).map(([name]) => name);
  const layers = Array.from({ length: config.numLayers }, (_, layer) => layer);
  for (const target of targets) {
    if (names.some((name) => layers.some((layer) => isTarget(name, layer, target)))) continue;
    const known = [...new Set(names.map((name) => name.split(".").at(-1)))].sort();
    throw new SeekError(
      "ERR_ARGUMENT",
      `adapter: targets: no projection called ${target}; expected all-linear, or some of ${known.join(", ")}`,
    );
  }
}

/**
 * Numbers of an adapter.
 *
 * @param config - shape of its model
 * @param options - its `rank`, 16 unless given, and the `targets` that it is put on
 * @returns how many
 * @throws ERR_ARGUMENT for a target that the model does not have
 * @example
 * await using adapter = await Adapter.create(model, { rank: 16 });
 * assert.equal(adapterParameters(model.config, { rank: 16 }), adapter.numParameters);
 */
export function adapterParameters(
  config: DecoderConfig,
  {
    rank = defaultRank,
    targets = "all-linear",
  }: {
    readonly rank?: number | undefined;
    readonly targets?: readonly string[] | "all-linear" | undefined;
  } = {},
): number {
  if (targets !== "all-linear") checkTargets(config, targets);
  let numbers = 0;
  for (let layer = 0; layer < config.numLayers; layer += 1) {
    for (const [name, size] of projections(config)) {
      const isChosen = targets === "all-linear" || targets.some((target) => isTarget(name, layer, target));
      if (isChosen) numbers += rank * size;
    }
  }
  return numbers;
}

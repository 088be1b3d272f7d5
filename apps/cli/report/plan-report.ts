/** What `seekrl plan` prints: layouts as a table, the fastest that fits, and all that was assumed. */

import { numParameters } from "../../../lib/train/memory/plan.ts";
import type { PlannedTraining } from "../../plan/layouts.ts";
import { type GpuName, gpuOf, latencies, reached } from "../../plan/machine.ts";
import { usable } from "../../plan/memory.ts";
import { launches, utilisation } from "../../plan/parts.ts";
import { mostDevices, type Plan, type RatedLayout } from "../../plan/planned.ts";
import { assumed, type Layout, type StepSeconds } from "../../plan/step.ts";
import { textSums } from "../../plan/workload.ts";
import { tableOf } from "./table.ts";
import { memoryLine } from "./training-report.ts";

/** Layouts on one number of GPUs. */
export interface Outcome extends Plan {
  readonly devices: number;
}

/** What a plan is about. */
interface PlanShown {
  readonly model: string;
  readonly gpu: string;
  readonly gpusPerMachine: number;
  readonly networkGbits: number;
  readonly training: PlannedTraining;
  readonly outcomes: readonly Outcome[];
}

const number = (value: number): string => value.toLocaleString("en-US", { maximumFractionDigits: 0 });
const digits = (value: number): string =>
  value >= 100 ? number(value) : String(Number(value.toPrecision(2)));
const gigabytes = (bytes: number): string => (bytes / 1e9).toFixed(1);

/** A layout in words; with a star where it is not there yet. */
function layoutText({ layout, isThere }: Pick<RatedLayout, "layout" | "isThere">): string {
  const { zero, tensor, rolloutDevices }: Layout = layout;
  const parts = [`ZeRO ${zero}`];
  if (tensor > 1) parts.push(`tensor ${tensor}`);
  if (rolloutDevices > 0) parts.push(`${rolloutDevices} generate`);
  return `${parts.join(", ")}${isThere ? "" : " *"}`;
}

const head = [
  ...["layout", "s/step", "rollouts", "scoring", "training", "collectives not hidden", "other"],
  ...["tokens/s", "efficiency", "GB"],
];

/** What has no column of its own. */
function otherSeconds({ exchange, optimiser, weights, checkpoint, fixed }: StepSeconds): number {
  return exchange + optimiser + weights + checkpoint + fixed;
}

function rowOf({ seconds, memory, rolloutMemory, ...rest }: RatedLayout): string[] {
  const bytes = Math.max(memory.total, rolloutMemory?.total ?? 0);
  const cells = rest.fits
    ? [number(rest.tokensPerSecond), `${Math.round(100 * rest.efficiency)} %`, gigabytes(bytes)]
    : ["", "", `${gigabytes(bytes)}: no`];
  const { total, rollouts, scoring, training, collectives } = seconds;
  const times = [total, rollouts, scoring, training, collectives, otherSeconds(seconds)];
  return [layoutText(rest), ...(rest.fits ? times.map(digits) : times.map(() => "")), ...cells];
}

/** All layouts on one number of GPUs, or the best on each of several. */
function tableLines({ outcomes }: PlanShown): string[] {
  const [only] = outcomes;
  if (outcomes.length === 1 && only !== undefined) {
    const ordered = [...only.all].sort(
      (a, b) =>
        Number(b.fits) - Number(a.fits) ||
        Number(b.isThere) - Number(a.isThere) ||
        a.seconds.total - b.seconds.total,
    );
    return [...linesOf([head, ...ordered.map(rowOf)]), ...shortLines(only)];
  }
  const rows = outcomes.map(({ devices, best }) =>
    best === undefined
      ? [number(devices), "none fits", ...head.slice(1).map(() => "")]
      : [number(devices), ...rowOf(best)],
  );
  return [...linesOf([["GPUs", ...head], ...rows], 1), ...outcomes.flatMap(shortLines)];
}

function linesOf(rows: readonly (readonly string[])[], textColumn = 0): string[] {
  return tableOf(rows, (column) => column === textColumn)
    .trimEnd()
    .split("\n");
}

/** What to do where nothing fits. */
function shortLines({ devices, best, enough }: Outcome): string[] {
  if (best !== undefined) return [];
  if (enough === undefined)
    return [
      `none fits on ${devices}, nor on up to ${number(mostDevices)}: a smaller model, --lora or --weights`,
    ];
  return [`none fits on ${devices}; ${enough.devices} are the fewest, doubling: ${layoutText(enough.best)}`];
}

/** What a GPU of the best layout holds, part by part; of several numbers of GPUs each layout has its own column alone. */
function memoryLines({ outcomes, gpu }: PlanShown): string[] {
  const [best] = outcomes.map((outcome) => outcome.best);
  if (outcomes.length > 1 || best === undefined) return [];
  const { recomputed, sequences, fits, gathered, ...plan } = best.memory;
  const parts = memoryLine(plan, gpuOf(gpu as GpuName).memoryBytes * usable);
  const also = gathered > 0 ? `, of other ranks ${gigabytes(gathered)} GB` : "";
  return ["", `${parts}${also}`];
}

/** How the fastest that can be had is started; nothing where it is computed only. */
function launchText(
  { devices, best }: Outcome,
  { gpusPerMachine, training: { workload } }: PlanShown,
): string | undefined {
  if (best === undefined || !best.isThere) return undefined;
  const { zero, tensor, rolloutDevices }: Layout = best.layout;
  const machines = Math.ceil(devices / gpusPerMachine);
  const flags = [
    ...(devices === 1 ? [] : [`launch --processes ${Math.ceil(devices / machines)}`]),
    ...(machines === 1 ? [] : [`--machines ${machines} --machine N --address HOST --port PORT`]),
    ...(devices === 1 ? [] : ["--"]),
    workload.isGenerated ? "train" : "sft",
    ...(tensor > 1 ? [`--tensor-parallel ${tensor}`] : []),
    ...(zero > 0 && tensor === 1 ? [`--zero ${zero}`] : []),
    ...(rolloutDevices > 0 ? [`--rollout-ranks ${rolloutDevices}`] : []),
  ];
  return `seekrl ${flags.join(" ")} --device cuda ...`;
}

/** The calls that the best layouts are. */
function launchLines(shown: PlanShown): string[] {
  const { outcomes } = shown;
  const lines = outcomes.flatMap((outcome) => {
    if (outcome.best === undefined) return [];
    const on = outcomes.length > 1 ? ` on ${number(outcome.devices)}` : "";
    const call = launchText(outcome, shown) ?? "no layout that fits can be started yet";
    return [`fastest that runs today${on}: ${call}`];
  });
  return lines.length === 0 ? [] : ["", ...lines];
}

function workLines({ training: { workload, model } }: PlanShown): string[] {
  const { sequences, length, rows } = textSums(workload);
  const kind = workload.isGenerated
    ? `${workload.questions} questions x ${workload.samples} rollouts`
    : `${sequences} texts`;
  const lora = model.loraRank === 0 ? "all weights are trained" : `LoRA of rank ${model.loraRank} is trained`;
  return [
    `step       ${kind} of ${number(length)} tokens, ${number(rows)} with a loss; ${workload.updates} updates, ${workload.scorings} scorings`,
    `trained    ${lora}${workload.hasCritic ? ", and a critic of the same size" : ""}; micro-batches of ${number(model.batch.tokens)} tokens`,
  ];
}

/** Everything that is not the model's shape or the caller's option. */
function assumptionLines({ gpu, gpusPerMachine, networkGbits, training }: PlanShown): string[] {
  const device = gpuOf(gpu as GpuName);
  const percent = (share: number): string => `${Math.round(100 * share)} %`;
  const { workload, overlap, staleness, checkpointEvery } = training;
  return [
    `a GPU reaches ${Math.round(device.flops / 1e12)} TFLOP/s of bf16 products (${percent(reached.flops)} of its data sheet), ${(device.bytesPerSecond / 1e12).toFixed(2)} TB/s of its memory (${percent(reached.memory)}), ${Math.round(device.link.bytesPerSecond / 1e9)} GB/s to each other GPU of its machine (${percent(reached.link)})`,
    `of that, training reaches ${percent(utilisation.train)} of the products, reading and scoring ${percent(utilisation.forward)}, decoding and updates ${percent(utilisation.memory)} of the memory; ${launches.perLayer} launches a layer of ${launches.kernelSeconds * 1e6} us`,
    `${gpusPerMachine} GPUs a machine; between machines ${networkGbits} Gbit/s a GPU (${percent(reached.link)} reached); a message takes ${latencies.machine * 1e6} us within a machine, ${latencies.network * 1e6} us between`,
    `collectives are rings within machines, then between them; gradients are f32; messages of ${number(assumed.bucketWeights)} weights; from ZeRO 2 on they hide under ${percent(overlap)} of the pass that they belong to`,
    "ZeRO 2 reduces each micro-batch, ZeRO 3 gathers each layer in forward and backward of each, and all weights once for the engines; under an adapter all have the frozen weights; tensor parallelism adds two sums of f32 a layer and pass, made in pairs; * several tensor groups that train together are computed, and not there yet",
    `turns are ${percent(workload.spread)} around ${workload.responseTokens} tokens, ${workload.searches} searches of ${workload.searchSeconds} s, ${workload.observationTokens} tokens found; samples of a question read its prompt once; a rank begins ${percent(assumed.begunAtOnce)} of its questions at once; no drafts`,
    `each GPU uses 90 % of its memory; a checkpoint every ${checkpointEvery} steps at ${assumed.diskBytesPerSecond / 1e9} GB/s a machine; trajectories travel at ${assumed.exchangeBytesPerSecond / 1e9} GB/s, ${assumed.exchangedBytesPerToken} bytes a token; 0.1 s of a step are fixed`,
    staleness === 0
      ? "rollouts wait for updates"
      : `rollouts may be ${staleness} steps behind: they and updates go on at once`,
    "efficiency is against one GPU that could hold everything; every zero advantage is trained on; no GPU fails",
  ];
}

/** All that is printed. */
export function planLines(shown: PlanShown): string[] {
  const { config } = shown.training.model;
  const assumptions = assumptionLines(shown).map((line) => `- ${line}`);
  return [
    `model      ${shown.model}: ${number(numParameters(config))} parameters, bfloat16, on ${shown.gpu}`,
    ...workLines(shown),
    "",
    ...tableLines(shown),
    ...memoryLines(shown),
    ...launchLines(shown),
    "",
    "Computed, not measured. Assumed:",
    ...assumptions,
  ];
}

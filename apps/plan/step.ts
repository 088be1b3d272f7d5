/** The time of one training step on many devices, part by part, for one way to lay a training out over them. */
import type { DecoderConfig } from "../../lib/model/config/config.ts";
import { begunAtOnce } from "../../lib/rollout/ranked-questions.ts";
import { piecesOfShare } from "../../lib/train/batch/families.ts";
import type { ZeroLevel } from "../../lib/train/memory/plan.ts";
import { broadcastSeconds, type Group, gatherSeconds, groupOf, pairSumSeconds } from "./collectives.ts";
import type { Cluster } from "./machine.ts";
import type { Parts } from "./parts.ts";
import { type RolloutSeconds, rolloutSeconds } from "./rollouts.ts";
import { textSums, type Workload } from "./workload.ts";

/** How devices divide the work. */
export interface Layout {
  readonly zero: ZeroLevel;
  /** Devices that share each product, side by side in a machine. */
  readonly tensor: number;
  /** Devices that only generate; 0: all generate and train in turn. */
  readonly rolloutDevices: number;
}

/** A training as the clock sees it. */
export interface PlannedStep {
  readonly cluster: Cluster;
  readonly layout: Layout;
  readonly parts: Parts;
  readonly workload: Workload;
  /** What one device of a tensor group has. */
  readonly config: DecoderConfig;
  readonly sizes: StepSizes;
}

/** Sizes that times follow from; those of weights are of one device of a tensor group. */
export interface StepSizes {
  /** Weights that are trained. */
  readonly trained: number;
  /** Their bytes, which ranks share out and gather. */
  readonly trainedBytes: number;
  /** Of AdamW's state. */
  readonly stateBytes: number;
  readonly microBatchTokens: number;
  /** Share of the layers that recompute. */
  readonly recomputed: number;
  /** Sequences that an engine has room for. */
  readonly room: number;
  /** Steps that the weights of rollouts may be behind the update. */
  readonly staleness: number;
  /** Share of the backward pass under which collectives hide. */
  readonly overlap: number;
  /** Steps between checkpoints; 0 for none. */
  readonly checkpointEvery: number;
}

/** Seconds of a step. Parts that devices do at the same time count in the larger of `rollouts` and the rest. */
export interface StepSeconds {
  readonly rollouts: number;
  /** Trajectories that all ranks tell each other. */
  readonly exchange: number;
  readonly scoring: number;
  readonly training: number;
  /** Collectives of gradients and weights that nothing hides. */
  readonly collectives: number;
  readonly optimiser: number;
  /** Weights on their way to engines. */
  readonly weights: number;
  readonly checkpoint: number;
  readonly fixed: number;
  readonly total: number;
}

/** What the simulation takes for granted beside devices and links. */
export const assumed = {
  /** Of a trajectory's token between ranks: id, log-probability, mask, text. */
  exchangedBytesPerToken: 24,
  /** Between machines, over TCP. */
  exchangeBytesPerSecond: 1e9,
  /** Of a machine's folder for checkpoints. */
  diskBytesPerSecond: 2e9,
  /** Of a rank's questions, the share that it begins at once. */
  begunAtOnce,
  /** Weights of one message of a collective's. */
  bucketWeights: 2 ** 24,
} as const;

interface Groups {
  readonly tensor: Group;
  readonly data: Group;
  readonly ranks: number;
  /** Engines, each a tensor group. */
  readonly engines: number;
}

function groupsOf({ cluster, layout: { tensor, rolloutDevices } }: PlannedStep): Groups {
  const ranks = (cluster.devices - rolloutDevices) / tensor;
  return {
    tensor: groupOf(cluster, { members: tensor }),
    data: groupOf(cluster, { members: ranks, stride: tensor }),
    ranks,
    engines: rolloutDevices === 0 ? ranks : rolloutDevices / tensor,
  };
}

/** Parts of a device that shares its products: two sums in f32 a layer forward, two backward. */
function sharedParts({ parts, config: { numLayers, hiddenSize } }: PlannedStep, group: Group): Parts {
  const forward = (tokens: number): number => 2 * numLayers * pairSumSeconds(4 * tokens * hiddenSize, group);
  return {
    ...parts,
    decodeSeconds: (work) => parts.decodeSeconds(work) + forward(work.sequences),
    readSeconds: (work) => parts.readSeconds(work) + forward(work.tokens),
    forwardSeconds: (work) => parts.forwardSeconds(work) + forward(work.tokens),
    trainSeconds: (work) => parts.trainSeconds(work) + (2 + work.recomputed) * forward(work.tokens),
  };
}

function rolloutsOf({ workload, sizes }: PlannedStep, { engines }: Groups, parts: Parts): RolloutSeconds {
  if (!workload.isGenerated) return { whole: 0, busy: 0 };
  // Questions stay whole; the first engines have one more where they do not come out even.
  const most = Math.ceil(workload.questions / engines);
  const numFull = workload.questions - (most - 1) * engines;
  const played = Math.min(numFull, mostPlayed);
  // What a rank has not begun goes to idle ones (lib/comm/claims.ts).
  const begun = engines === 1 ? most : Math.ceil((workload.questions / engines) * assumed.begunAtOnce);
  const runs = Array.from({ length: played }, (_, rank) =>
    rolloutSeconds(parts, workload, { questions: most, room: sizes.room, begun, rank }),
  );
  return runs.reduce((slowest, run) => (run.whole > slowest.whole ? run : slowest));
}

/** Engines that are played through; the slowest of more is hardly slower. */
const mostPlayed = 32;

/**
 * Tokens of the rank that has most of a part of the texts, drawn at random as mini-batches are: whole texts, and a prompt
 * for each question of it, again for each piece that a question's texts are cut into.
 */
function trainedTokens(workload: Workload, ranks: number, parts: number) {
  const { questions, samples, promptTokens } = workload;
  const { length, rows, own } = textSums(workload);
  const sequences = (questions * samples) / parts;
  // Questions of which at least one text is drawn.
  const drawn = questions * (1 - (1 - 1 / parts) ** samples);
  const alike = sequences / drawn;
  const most = Math.ceil(sequences / ranks);
  const ofPiece = Math.max(1, Math.floor(sequences / ranks / piecesOfShare));
  const together = ranks === 1 ? alike : Math.min(alike, ofPiece);
  return { tokens: most * own + (most / together) * promptTokens, rows: most * rows, context: length / 2 };
}

/** Collectives of one update, and of its micro-batches. */
function updateCollectives({ layout: { zero }, sizes }: PlannedStep, { data }: Groups, microBatches: number) {
  const { trained, trainedBytes } = sizes;
  const messages = Math.max(1, Math.ceil(trained / assumed.bucketWeights));
  const inMessages = (bytes: number): number => messages * gatherSeconds(bytes / messages, data);
  const gradients = inMessages(4 * trained);
  if (zero === 0) return { reduced: 2 * gradients, gathered: 0, weights: 0 };
  const weights = inMessages(trainedBytes);
  if (zero === 1) return { reduced: gradients, gathered: 0, weights };
  const reduced = microBatches * gradients;
  if (zero === 2) return { reduced, gathered: 0, weights };
  // Forward and backward each gather every layer again.
  return { reduced, gathered: 2 * microBatches * weights, weights: 0 };
}

interface Update {
  readonly training: number;
  readonly collectives: number;
  readonly optimiser: number;
}

function updatesOf(step: PlannedStep, groups: Groups, parts: Parts): Update {
  const { workload, sizes, layout } = step;
  const { updates, epochs, hasCritic } = workload;
  const share = trainedTokens(workload, groups.ranks, updates / epochs);
  const models = hasCritic ? 2 : 1;
  const microBatches = Math.ceil(share.tokens / sizes.microBatchTokens);
  const [tokens, rows] = [share.tokens / microBatches, share.rows / microBatches];
  const { context } = share;
  const microBatch = parts.trainSeconds({ tokens, rows, context, recomputed: sizes.recomputed });
  const computed = microBatches * (microBatch + parts.microBatchSeconds);
  const { reduced, gathered, weights } = updateCollectives(step, groups, microBatches);
  // Levels 2 and 3 reduce while they go backward, and gather a layer before it runs; 0 and 1 reduce when all is summed.
  const hidden = layout.zero >= 2 ? sizes.overlap * computed : 0;
  const backward = Math.min((2 / 3) * hidden, reduced);
  const exposed = reduced - backward + Math.max(0, gathered - (hidden - backward));
  const owned = sizes.trained / (layout.zero >= 1 ? groups.ranks : 1);
  const times = updates * models;
  return {
    training: times * computed,
    collectives: times * (exposed + weights),
    optimiser: times * parts.optimiserSeconds(owned),
  };
}

function scoringOf({ workload, sizes, layout }: PlannedStep, groups: Groups, parts: Parts): number {
  const { tokens, rows, context } = trainedTokens(workload, groups.ranks, 1);
  const passes = Math.ceil(tokens / sizes.microBatchTokens);
  const gathered = layout.zero >= 3 ? passes * gatherSeconds(sizes.trainedBytes, groups.data) : 0;
  return workload.scorings * Math.max(parts.forwardSeconds({ tokens, rows, context }), gathered);
}

function weightsOf({ cluster, layout, sizes, workload }: PlannedStep, { data, engines }: Groups): number {
  if (!workload.isGenerated) return 0;
  if (layout.rolloutDevices > 0) {
    const receivers = groupOf(cluster, { members: engines + 1, stride: layout.tensor });
    return broadcastSeconds(sizes.trainedBytes, receivers);
  }
  return layout.zero >= 3 ? gatherSeconds(sizes.trainedBytes, data) : 0;
}

function checkpointOf({ cluster, layout, sizes }: PlannedStep): number {
  if (sizes.checkpointEvery === 0) return 0;
  const machines = layout.zero >= 1 ? Math.max(1, cluster.devices / cluster.perMachine) : 1;
  const bytes = (sizes.trainedBytes + sizes.stateBytes) * layout.tensor;
  return bytes / (assumed.diskBytesPerSecond * machines) / sizes.checkpointEvery;
}

function exchangeOf({ workload }: PlannedStep, { ranks, engines }: Groups): number {
  if (!workload.isGenerated || (ranks === 1 && engines === 1)) return 0;
  const { sequences, length } = textSums(workload);
  return (sequences * length * assumed.exchangedBytesPerToken) / assumed.exchangeBytesPerSecond;
}

/**
 * Seconds of a step.
 *
 * Where all devices generate and train in turn, parts follow one another; stale weights let training go on while
 * rollouts wait for searches. Where some only generate, stale weights let both kinds work at once.
 *
 * @param step - devices, layout, parts, work
 * @returns seconds of each part, and of the whole
 */
export function stepSeconds(step: PlannedStep): StepSeconds {
  const groups = groupsOf(step);
  const parts = sharedParts(step, groups.tensor);
  const played = rolloutsOf(step, groups, parts);
  const update = updatesOf(step, groups, parts);
  const pieces = {
    rollouts: played.whole,
    exchange: exchangeOf(step, groups),
    scoring: scoringOf(step, groups, parts),
    ...update,
    weights: weightsOf(step, groups),
    checkpoint: checkpointOf(step),
    fixed: parts.stepSeconds,
  };
  const { rollouts, ...others } = pieces;
  const rest = Object.values(others).reduce((sum, seconds) => sum + seconds, 0);
  return { ...pieces, total: togetherSeconds(step, played, rest) };
}

function togetherSeconds(
  { layout, sizes }: PlannedStep,
  { whole, busy }: RolloutSeconds,
  rest: number,
): number {
  if (sizes.staleness === 0) return whole + rest;
  return layout.rolloutDevices > 0 ? Math.max(whole, rest) : Math.max(whole, busy + rest);
}

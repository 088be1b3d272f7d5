/** Batches, losses and optimisers: the exports of native/node/train. */
import type { NativeProcessGroup } from "./comm.ts";
import type { NativeAdapter, NativeModel, NativeStoredTensor } from "./models.ts";

/** A packed micro-batch (native/train/batch.h); every array but the first three has one entry per row, `[R]`. */
export interface NativeBatch {
  /** Ids of all sequences, what they begin with alike once, `[T]`. */
  readonly tokens: Int32Array;
  /** `[S + 1]` offsets into the tokens, the last one `T`. */
  readonly spanStarts: Int32Array;
  /** The span before it that each continues, `[S]`, or -1. */
  readonly spanParents: Int32Array;
  /** Places among the tokens whose next token is trained; one place may be the row of several tokens. */
  readonly rows: Int32Array;
  /** The token behind each row. */
  readonly targets: Int32Array;
  /** The sequence of each row, counted from 0. */
  readonly sequences?: Int32Array;
  readonly weights?: Float32Array;
  readonly advantages?: Float32Array;
  readonly oldLogprobs?: Float32Array;
  readonly rolloutLogprobs?: Float32Array;
  readonly referenceLogprobs?: Float32Array;
  readonly returns?: Float32Array;
  readonly oldValues?: Float32Array;
}

/** AdamW's settings (native/train/adamw.h). */
export interface NativeAdamW {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  readonly weightDecay: number;
  readonly decayVectors: boolean;
  readonly maxGradNorm: number;
  readonly moments: string;
  readonly masterWeights: boolean;
  /** Empty for none. */
  readonly stateFolder: string;
  readonly zero: number;
  /** 0 for none. */
  readonly gradientShards: number;
  readonly reduceDtype: string;
}

/** The policy loss's settings (native/train/loss.h). */
export interface NativeLossOptions {
  readonly objective: string;
  readonly clipLow: number;
  readonly clipHigh: number;
  /** 0 turns it off. */
  readonly clipDual: number;
  readonly correction: string;
  readonly correctionLow: number;
  readonly correctionHigh: number;
  readonly entropyCoef: number;
  readonly klEstimator: string;
  readonly klCoef: number;
  readonly temperature: number;
}

/** What a step's micro-batches add up to (native/train/loss.h): `loss` and `policy` weighted, the rest plain sums over `numRows` rows. */
export interface LossStats {
  readonly loss: number;
  readonly policy: number;
  readonly numRows: number;
  readonly entropy: number;
  readonly kl: number;
  readonly approxKl: number;
  readonly numClipped: number;
  /** Of rollout to old log-probability, before it was truncated or masked; 0 without a correction. */
  readonly correctionRatio: number;
  /** Rows whose ratio was truncated or masked. */
  readonly numCorrected: number;
  readonly gap: number;
  readonly gapMax: number;
}

/** What a step's micro-batches of the critic add up to: `loss` weighted, the rest plain sums over `numRows` rows. */
export interface ValueStats {
  readonly loss: number;
  readonly numRows: number;
  readonly numClipped: number;
  readonly values: number;
}

/** What micro-batches add to where they are computed (native/train/stat_sums.h). */
interface NativeSums<Stats> {
  /** Never set; tells those of a policy from those of a critic. */
  readonly stats?: Stats;
}

/** What the handles of policy and critic share. */
export interface NativeLearner<Stats = unknown> {
  /** With an adapter it alone is trained. */
  open(
    model: NativeModel,
    adapter: NativeAdapter | undefined,
    optimiser: NativeAdamW,
    processGroup?: NativeProcessGroup,
  ): Promise<void>;
  newSums(): NativeSums<Stats>;
  /** Waits for the device. */
  readSums(sums: NativeSums<Stats>): Promise<Stats>;
  /** What a rank does while others run a micro-batch that it lacks, where they run them together. */
  idle(): Promise<void>;
  /** Gives every rank all weights until the next micro-batch or step. */
  gatherWeights(): Promise<void>;
  /** The global gradient norm before clipping. */
  step(learningRate: number): Promise<number>;
  zeroGradients(): Promise<void>;
  gradient(name: string): Promise<Float32Array>;
  /** `dtype`: of those that are no f32. */
  stateTensors(): { name: string; shape: number[]; dtype?: "U8" | "I16" }[];
  writeState(path: string, header: Uint8Array): Promise<void>;
  readState(tensors: readonly NativeStoredTensor[], numSteps: number): Promise<void>;
  /** Replaces a model's weights in place, of which a rank that has but a share reads that alone. */
  readWeights(tensors: readonly NativeStoredTensor[]): Promise<void>;
  /** Writes a model's weights as `NativeModel.write` does; without a path brings other ranks what this one has of them. */
  writeWeights(
    path: string | undefined,
    header: Uint8Array,
    names: readonly string[],
    dtype: string,
  ): Promise<void>;
  close(): void;
}

/** The policy's trainer. */
export interface NativeTrainer extends NativeLearner<LossStats> {
  accumulate(
    batch: NativeBatch,
    loss: NativeLossOptions,
    sums: NativeSums<LossStats>,
    numRecomputed: number,
  ): Promise<void>;
}

/** The critic. */
export interface NativeCritic extends NativeLearner<ValueStats> {
  values(batch: NativeBatch): Promise<Float32Array>;
  accumulate(
    batch: NativeBatch,
    clip: number,
    sums: NativeSums<ValueStats>,
    numRecomputed: number,
  ): Promise<void>;
}

/** Training, the exports of native/node/train/train_api.cpp. */
export interface NativeTraining {
  readonly TrainerHandle: new () => NativeTrainer;
  readonly CriticHandle: new () => NativeCritic;
  /** Replaces a model's weights in place. */
  readWeights(model: NativeModel, tensors: readonly NativeStoredTensor[]): Promise<void>;
  /** Gives all ranks what the root's policy is trained to be, and its version. */
  broadcastWeights(
    model: NativeModel,
    adapter: NativeAdapter | undefined,
    processGroup: NativeProcessGroup,
    root: number,
  ): Promise<void>;
  /** Bytes that kernels work in beside a micro-batch's tensors, at most (native/train/scratch_bytes.h); a GPU need not be there. */
  trainingScratch(
    device: string,
    sizes: {
      readonly numKvHeads: number;
      readonly headDim: number;
      readonly vocabSize: number;
      readonly tokens: number;
      readonly rows: number;
      readonly isQuantised: boolean;
    },
  ): { readonly logits: number; readonly attention: number; readonly weights: number };
  /** Bytes of a GPU: what is free now for this process to take, and all. */
  gpuMemory(device: string): Promise<{ readonly free: number; readonly all: number }>;
  /** Log-probability of each row's next token and the entropy of its distribution. */
  tokenLogprobs(
    model: NativeModel,
    adapter: NativeAdapter | undefined,
    batch: NativeBatch,
    temperature: number,
  ): Promise<{ logprobs: Float32Array; entropies: Float32Array }>;
}

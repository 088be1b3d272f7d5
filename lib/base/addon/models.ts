/** Decoders and encoders: the exports of native/node/model. */
import type { NativeProcessGroup } from "./comm.ts";
import type { Handle } from "./handle.ts";

/** A tensor inside a safetensors or GGUF file; `offset` counts from the beginning of the file. */
export interface NativeStoredTensor {
  readonly name: string;
  /** The format's spelling, for example `F32` or `Q8_0`. */
  readonly dtype: string;
  readonly shape: readonly number[];
  readonly path: string;
  readonly offset: number;
  /** Of how many heads the rows are, where those that turn together lie side by side (llama.cpp). */
  readonly pairedHeads?: number | undefined;
}

/** A decoder's native handle: empty until `load`, `create` or `copyFrom`, and after `close`. */
export interface NativeModel {
  load(
    config: object,
    /** `deferred`: numbers are read when they are needed. */
    options: { dtype: string; device: string; weights: string; deferred: boolean },
    tensors: readonly NativeStoredTensor[],
    group: NativeProcessGroup | undefined,
  ): Promise<void>;
  create(
    config: object,
    options: { dtype: string; device: string; weights: string; seed: number; std: number },
    group: NativeProcessGroup | undefined,
  ): Promise<void>;
  copyFrom(source: NativeModel): Promise<void>;
  /** Writes header and tensors to a file that replaces `path` when complete; `dtype` is `F32`, `BF16` or `F16`. */
  write(path: string, header: Uint8Array, names: readonly string[], dtype: string): Promise<void>;
  tensors(): { name: string; shape: number[] }[];
  /** Quantised weights, and what a file holds of each. */
  quantised(): {
    name: string;
    shape: number[];
    parts: { name: string; shape: number[]; dtype: "U8" | "F16" | "F32" }[];
  }[];
  weightsVersion(): number;
  parameter(name: string): Promise<Float32Array>;
  /** One number fewer than ids. */
  scoreLogprobs(ids: Int32Array, adapter: NativeAdapter | undefined): Promise<Float32Array>;
  /** Does what rank 0 does with it, until that one closes it. */
  follow(): Promise<void>;
  close(): void;
}

/** An adapter's native handle: empty until `create` or `copyFrom`, and after `close`. */
export interface NativeAdapter {
  create(
    model: NativeModel,
    options: {
      rank: number;
      alpha: number;
      rankStabilised: boolean;
      /** Last parts of projections' names, or `all-linear` alone. */
      targets: readonly string[];
      seed: number;
    },
  ): Promise<void>;
  copyFrom(model: NativeModel, source: NativeAdapter): Promise<void>;
  /** Replaces its numbers in place. */
  read(tensors: readonly NativeStoredTensor[]): Promise<void>;
  /** Writes header and tensors, as F32, to a file that replaces `path` when complete. */
  write(path: string, header: Uint8Array): Promise<void>;
  mergeInto(model: NativeModel): Promise<void>;
  tensors(): { name: string; shape: number[] }[];
  version(): number;
  parameter(name: string): Promise<Float32Array>;
  close(): void;
}

/** Models, the exports of native/node/model/model_api.cpp and adapter_api.cpp. */
export interface NativeModels {
  readonly ModelHandle: new () => NativeModel;
  readonly AdapterHandle: new () => NativeAdapter;
}

/** Encoders, the exports of native/node/model/encoder_api.cpp. */
export interface NativeEncoders {
  encoderOpen(
    config: object,
    options: { dtype: string; weights: string; device: string; pooling: string; isNormalised: boolean },
    tensors: readonly NativeStoredTensor[],
  ): Promise<Handle<"encoder">>;
  encoderOpenDecoder(
    config: object,
    options: { dtype: string; weights: string; device: string; pooling: string; isNormalised: boolean },
    tensors: readonly NativeStoredTensor[],
  ): Promise<Handle<"encoder">>;
  /** One vector per text; text s has the ids from `starts[s]` to `starts[s + 1]`. */
  encoderEncode(
    encoder: Handle<"encoder">,
    ids: Int32Array,
    starts: Int32Array,
    types: Int32Array | undefined,
  ): Promise<Float32Array>;
  encoderDim(encoder: Handle<"encoder">): number;
  encoderClose(encoder: Handle<"encoder">): void;
}

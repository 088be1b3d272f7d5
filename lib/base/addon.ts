/** The face of the native addon, one interface per area; nothing above `lib` ever sees these types. */

/** Settings of the process as a whole. */
export interface NativeProcess {
  /** Version of the libtorch the addon was built against, for example `2.13.0`. */
  torchVersion(): string;
  /** Bounds the threads of tensor work. */
  setNumThreads(numThreads: number): Promise<void>;
}

/** A decoder's native handle: empty until `load`, `create` or `copyFrom`, and after `close`. */
export interface NativeModel {
  load(
    config: object,
    options: { dtype: string; device: string },
    tensors: readonly {
      name: string;
      dtype: string;
      shape: readonly number[];
      path: string;
      offset: number;
    }[],
  ): Promise<void>;
  create(
    config: object,
    options: { dtype: string; device: string; seed: number; std: number },
  ): Promise<void>;
  copyFrom(source: NativeModel): Promise<void>;
  /** Writes header and tensors to a file that replaces `path` when complete; `dtype` is `F32`, `BF16` or `F16`. */
  write(path: string, header: Uint8Array, names: readonly string[], dtype: string): Promise<void>;
  tensors(): { name: string; shape: number[] }[];
  weightsVersion(): number;
  parameter(name: string): Promise<Float32Array>;
  /** One number fewer than ids. */
  scoreLogprobs(ids: Int32Array): Promise<Float32Array>;
  close(): void;
}

/** Models, the exports of native/node/model_api.cpp. */
export interface NativeModels {
  readonly ModelHandle: new () => NativeModel;
}

/** Everything the addon exports. */
export type Addon = NativeProcess & NativeModels;

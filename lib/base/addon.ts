/** The face of the native addon, one interface per area; nothing above `lib` ever sees these types. */

/** Settings of the process as a whole. */
export interface NativeProcess {
  /** Version of the libtorch the addon was built against, for example `2.13.0`. */
  torchVersion(): string;
  /** Bounds the threads of tensor work. */
  setNumThreads(numThreads: number): Promise<void>;
}

/** Everything the addon exports. */
export type Addon = NativeProcess;

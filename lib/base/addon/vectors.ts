/** Vectors: indexes of them, and files of rows. */
import type { Handle, NativeHits } from "./handle.ts";

/** Vectors, the exports of native/node/search/vector_api.cpp and vector_gpu_api.cpp. */
export interface NativeVectors {
  vectorIndexCreate(options: object): Handle<"vectorIndex">;
  /** `verify`: reads and checks every byte of the file, not its header alone. */
  vectorIndexOpen(
    path: string,
    kind: string,
    verify: boolean,
    capacity: number | undefined,
  ): Promise<Handle<"vectorIndex">>;
  /** Rows from `first` on. */
  vectorIndexAdd(index: Handle<"vectorIndex">, first: number, vectors: Float32Array): Promise<void>;
  /** The rows [begin, end) of another index that are not removed, from `first` on; how many there were. */
  vectorIndexAddRows(
    index: Handle<"vectorIndex">,
    first: number,
    source: Handle<"vectorIndex">,
    begin: number,
    end: number,
  ): Promise<number>;
  vectorIndexRemove(index: Handle<"vectorIndex">, ids: Int32Array): void;
  vectorIndexRead(index: Handle<"vectorIndex">, first: number, count: number): Promise<Float32Array>;
  vectorIndexSearch(
    index: Handle<"vectorIndex">,
    queries: Float32Array,
    options: { topK: number; expansion: number; overFetch: number; exact: boolean },
    allowed: Uint8Array | undefined,
    rescore: Handle<"vectorIndex"> | undefined,
  ): Promise<NativeHits>;
  vectorIndexSave(index: Handle<"vectorIndex">, path: string): Promise<void>;
  vectorIndexInfo(index: Handle<"vectorIndex">): {
    count: number;
    dim: number;
    dtype: "f32" | "bf16" | "i8" | "b1";
    numRemoved: number;
  };
  vectorIndexClose(index: Handle<"vectorIndex">): void;
  /** An exact index on a GPU; its vectors go there when they are uploaded or searched. */
  vectorGpuCreate(
    index: Handle<"vectorIndex">,
    rescore: Handle<"vectorIndex"> | undefined,
    device: string,
  ): Handle<"vectorGpu">;
  vectorGpuUpload(gpu: Handle<"vectorGpu">, numRows: number): Promise<void>;
  vectorGpuSearch(
    gpu: Handle<"vectorGpu">,
    queries: Float32Array,
    options: { topK: number; overFetch: number; numRows: number },
    allowed: Uint8Array | undefined,
    rescore: Handle<"vectorIndex"> | undefined,
  ): Promise<NativeHits>;
  vectorGpuClose(gpu: Handle<"vectorGpu">): void;
  vectorRowsWriterOpen(path: string, format: object): Promise<Handle<"vectorRowsWriter">>;
  vectorRowsWriterAdd(writer: Handle<"vectorRowsWriter">, vectors: Float32Array): Promise<void>;
  vectorRowsWriterCount(writer: Handle<"vectorRowsWriter">): number;
  vectorRowsWriterFinish(writer: Handle<"vectorRowsWriter">): Promise<void>;
  vectorRowsWriterClose(writer: Handle<"vectorRowsWriter">): void;
}

/** The face of the native addon, one file per area; nothing above `lib` ever sees these types. */
import type { ErrorCode } from "../errors.ts";
import type { NativeComm } from "./comm.ts";
import type { NativeEngines } from "./engines.ts";
import type { NativeEncoders, NativeModels } from "./models.ts";
import type { NativeCorpus, NativeFolders, NativePassages } from "./passages.ts";
import type { NativeTraining } from "./training.ts";
import type { NativeVectors } from "./vectors.ts";
import type { NativeBm25, NativeHashedEmbedder, NativeLexicon } from "./words.ts";

/** Settings of the process as a whole. */
interface NativeProcess {
  /** Version of the libtorch the addon was built against, for example `2.13.0`. */
  torchVersion(): string;
  /** Of the kernels in use, in SEEKRL_MAX_CPU_ISA's words; throws when that variable says something else. */
  instructionSet(): string;
  /** What errors are made of from here on: `new errorClass(code, message)`. */
  setErrorClass(errorClass: new (code: ErrorCode, message: string) => Error): void;
  /** Bounds the threads of tensor work. */
  setNumThreads(numThreads: number): Promise<void>;
}

/** Everything the addon exports. */
export type Addon = NativeProcess &
  NativeComm &
  NativeModels &
  NativeEngines &
  NativeTraining &
  NativeEncoders &
  NativePassages &
  NativeCorpus &
  NativeFolders &
  NativeLexicon &
  NativeBm25 &
  NativeHashedEmbedder &
  NativeVectors;

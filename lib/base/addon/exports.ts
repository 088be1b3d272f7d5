/**
 * Whether an addon is of these sources: every function and method that its TypeScript names is there.
 *
 * A clone's addon goes stale when sources are pulled and the TypeScript alone is compiled; a package's cannot, as versions are
 * compared and packing refuses a stale one. Names are compared because the compiler holds this list to the interfaces.
 */
import { SeekError } from "../errors.ts";
import { buildCommand } from "../package-root.ts";
import type { Addon } from "./addon.ts";

/** `torchVersion`; of a class its name, and `EngineHandle.start`. */
type NameOf<Face> = {
  [Key in keyof Face & string]: Face[Key] extends abstract new (
    ...args: never
  ) => infer Made
    ? Key | `${Key}.${keyof Made & string}`
    : Key;
}[keyof Face & string];

const names = {
  torchVersion: true,
  instructionSet: true,
  setNumThreads: true,
  setErrorClass: true,
  ProcessGroupHandle: true,
  "ProcessGroupHandle.open": true,
  "ProcessGroupHandle.exchange": true,
  "ProcessGroupHandle.broadcast": true,
  "ProcessGroupHandle.gather": true,
  "ProcessGroupHandle.count": true,
  "ProcessGroupHandle.report": true,
  "ProcessGroupHandle.cancel": true,
  "ProcessGroupHandle.close": true,
  ModelHandle: true,
  "ModelHandle.load": true,
  "ModelHandle.create": true,
  "ModelHandle.copyFrom": true,
  "ModelHandle.write": true,
  "ModelHandle.tensors": true,
  "ModelHandle.quantised": true,
  "ModelHandle.weightsVersion": true,
  "ModelHandle.parameter": true,
  "ModelHandle.scoreLogprobs": true,
  "ModelHandle.follow": true,
  "ModelHandle.close": true,
  AdapterHandle: true,
  "AdapterHandle.create": true,
  "AdapterHandle.copyFrom": true,
  "AdapterHandle.read": true,
  "AdapterHandle.write": true,
  "AdapterHandle.mergeInto": true,
  "AdapterHandle.tensors": true,
  "AdapterHandle.version": true,
  "AdapterHandle.parameter": true,
  "AdapterHandle.close": true,
  EngineHandle: true,
  "EngineHandle.start": true,
  "EngineHandle.open": true,
  "EngineHandle.fork": true,
  "EngineHandle.append": true,
  "EngineHandle.truncate": true,
  "EngineHandle.generate": true,
  "EngineHandle.score": true,
  "EngineHandle.cancel": true,
  "EngineHandle.setMask": true,
  "EngineHandle.closeSequence": true,
  "EngineHandle.stats": true,
  "EngineHandle.numBlocks": true,
  "EngineHandle.numFreeBlocks": true,
  "EngineHandle.close": true,
  TrainerHandle: true,
  "TrainerHandle.accumulate": true,
  "TrainerHandle.open": true,
  "TrainerHandle.newSums": true,
  "TrainerHandle.readSums": true,
  "TrainerHandle.idle": true,
  "TrainerHandle.gatherWeights": true,
  "TrainerHandle.step": true,
  "TrainerHandle.zeroGradients": true,
  "TrainerHandle.gradient": true,
  "TrainerHandle.stateTensors": true,
  "TrainerHandle.writeState": true,
  "TrainerHandle.readState": true,
  "TrainerHandle.readWeights": true,
  "TrainerHandle.writeWeights": true,
  "TrainerHandle.close": true,
  CriticHandle: true,
  "CriticHandle.values": true,
  "CriticHandle.accumulate": true,
  "CriticHandle.open": true,
  "CriticHandle.newSums": true,
  "CriticHandle.readSums": true,
  "CriticHandle.idle": true,
  "CriticHandle.gatherWeights": true,
  "CriticHandle.step": true,
  "CriticHandle.zeroGradients": true,
  "CriticHandle.gradient": true,
  "CriticHandle.stateTensors": true,
  "CriticHandle.writeState": true,
  "CriticHandle.readState": true,
  "CriticHandle.readWeights": true,
  "CriticHandle.writeWeights": true,
  "CriticHandle.close": true,
  readWeights: true,
  broadcastWeights: true,
  trainingScratch: true,
  gpuMemory: true,
  tokenLogprobs: true,
  vectorIndexCreate: true,
  vectorIndexOpen: true,
  vectorIndexAdd: true,
  vectorIndexAddRows: true,
  vectorIndexRemove: true,
  vectorIndexRead: true,
  vectorIndexSearch: true,
  vectorIndexSave: true,
  vectorIndexInfo: true,
  vectorIndexClose: true,
  vectorRowsWriterOpen: true,
  vectorRowsWriterAdd: true,
  vectorRowsWriterCount: true,
  vectorRowsWriterFinish: true,
  vectorRowsWriterClose: true,
  vectorGpuCreate: true,
  vectorGpuUpload: true,
  vectorGpuSearch: true,
  vectorGpuClose: true,
  lexiconCreate: true,
  lexiconBytes: true,
  lexiconCut: true,
  lexiconCutPassages: true,
  cutLearn: true,
  cutWords: true,
  cutClose: true,
  phrasesCreate: true,
  phrasesMark: true,
  phrasesMarked: true,
  phrasesIn: true,
  bm25BuilderCreate: true,
  bm25BuilderAdd: true,
  bm25BuilderSave: true,
  bm25BuilderClose: true,
  bm25IndexOpen: true,
  bm25IndexJoin: true,
  bm25IndexSearch: true,
  bm25IndexFrequencies: true,
  bm25IndexWithin: true,
  bm25IndexSearchPart: true,
  bm25IndexNumTerms: true,
  bm25IndexCount: true,
  bm25IndexClose: true,
  corpusStatsCreate: true,
  corpusStatsAdd: true,
  corpusStatsAddStored: true,
  corpusStatsSummary: true,
  corpusStatsClose: true,
  passageWriterCreate: true,
  passageWriterAdd: true,
  passageWriterFinish: true,
  passageWriterClose: true,
  passageStoreOpen: true,
  passageStoreCount: true,
  passageStoreGet: true,
  passageStoreGetMany: true,
  passageStoreFind: true,
  passageStoreClose: true,
  fileLockTake: true,
  fileLockClose: true,
  repeatedPassageIds: true,
  idfCounterCreate: true,
  idfCounterAdd: true,
  embedderCreate: true,
  embedderOpen: true,
  embedderEmbed: true,
  embedderSave: true,
  embedderDim: true,
  embedderClose: true,
  encoderOpen: true,
  encoderOpenDecoder: true,
  encoderEncode: true,
  encoderDim: true,
  encoderClose: true,
} satisfies Record<NameOf<Addon>, true>;

type Exports = Readonly<Record<string, { readonly prototype?: object } | undefined>>;

function has(addon: Exports, name: string): boolean {
  const [key = "", method] = name.split(".");
  const found = addon[key];
  return found !== undefined && (method === undefined || method in (found.prototype ?? {}));
}

/**
 * Refuses an addon that lacks what these sources call.
 *
 * @param addon - as it was loaded
 * @param path - of its file
 * @throws ERR_STATE that names the file, what it lacks, and the command that makes it anew
 */
export function requireExports(addon: object, path: string): void {
  const missing = Object.keys(names).filter((name) => !has(addon as Exports, name));
  if (missing.length === 0) return;
  const more = missing.length > 3 ? ` and ${missing.length - 3} more` : "";
  throw new SeekError(
    "ERR_STATE",
    `the native addon ${path} was built from other sources than this JavaScript: it lacks ` +
      `${missing.slice(0, 3).join(", ")}${more}. Remedy: ${buildCommand()}.`,
  );
}

/** `seekrl/data`: documents, passages and questions, training data made from them, and models of the hub. */

export { type PushedModel, type PushModelOptions, pushModel } from "../apps/push/push-model.ts";
export type { HubOptions } from "../connectors/remote/files/hub.ts";
export { fetchModel } from "../connectors/remote/hub/fetch-model.ts";
export type { FetchedModel, FetchModelOptions } from "../connectors/remote/hub/fetch-place.ts";
export type { FormatName } from "./data/formats.ts";
export {
  type DataFile,
  type LeftOut,
  type Prepared,
  type PrepareOptions,
  prepareQuestions,
} from "./data/prepare.ts";
export { type Question, type QuestionSet, readQuestions } from "./data/question.ts";
export type { Document } from "./search/corpus/document.ts";
export type { Passage } from "./search/corpus/passage.ts";
export { PassageStore, writePassageStore } from "./search/corpus/passage-store.ts";
export {
  type ReadDocumentsOptions,
  type ReadProgress,
  readDocuments,
} from "./search/corpus/read-documents.ts";
export { type CorpusReport, type ReportOptions, reportLines, reportOf } from "./search/corpus/report.ts";
export { type SplitOptions, splitDocuments } from "./search/corpus/split-documents.ts";
export {
  type SplitCorpusOptions,
  type SplitProgress,
  type SplitResult,
  splitCorpus,
} from "./search/corpus/split-job.ts";
export {
  type CheckCorpusOptions,
  type CheckProgress,
  type CorpusCheck,
  checkCorpus,
  type QuestionReport,
} from "./search/corpus-check/check-corpus.ts";
export type { TitledText } from "./text/observation.ts";
export {
  type AttemptedQuestion,
  type AttemptOptions,
  type AttemptProgress,
  type Attempts,
  attemptQuestions,
  type IsRight,
  type WrittenTrajectory,
} from "./train/curate/attempts.ts";
export {
  type Curriculum,
  type CurriculumOptions,
  type RagCurriculumOptions,
  type RankedQuestion,
  r1SearcherCurriculum,
  ragCurriculum,
} from "./train/curate/curriculum.ts";
export {
  type CutConversation,
  type SftCategory,
  type SftSample,
  sftSamples,
  type WrittenSegment,
} from "./train/curate/samples.ts";
export type { Difficulty } from "./train/curate/selection.ts";

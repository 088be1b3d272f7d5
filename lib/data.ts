/** `seekrl/data`: documents, passages and questions, training data made from them, and models of the hub. */

export type { Document } from "./corpus/document.ts";
export type { Passage } from "./corpus/passage.ts";
export { PassageStore, writePassageStore } from "./corpus/passage-store.ts";
export { type ReadDocumentsOptions, type ReadProgress, readDocuments } from "./corpus/read-documents.ts";
export { type CorpusReport, type ReportOptions, reportLines, reportOf } from "./corpus/report.ts";
export { type SplitOptions, splitDocuments } from "./corpus/split-documents.ts";
export {
  type SplitCorpusOptions,
  type SplitProgress,
  type SplitResult,
  splitCorpus,
} from "./corpus/split-job.ts";
export {
  type AttemptedQuestion,
  type AttemptOptions,
  type AttemptProgress,
  type Attempts,
  attemptQuestions,
  type IsRight,
  type WrittenTrajectory,
} from "./curate/attempts.ts";
export {
  type Curriculum,
  type CurriculumOptions,
  type RagCurriculumOptions,
  type RankedQuestion,
  r1SearcherCurriculum,
  ragCurriculum,
} from "./curate/curriculum.ts";
export {
  type CutConversation,
  type SftCategory,
  type SftSample,
  sftSamples,
  type WrittenSegment,
} from "./curate/samples.ts";
export type { Difficulty } from "./curate/selection.ts";
export type { FormatName } from "./data/formats.ts";
export {
  type DataFile,
  type LeftOut,
  type Prepared,
  type PrepareOptions,
  prepareQuestions,
} from "./data/prepare.ts";
export { type Question, type QuestionSet, readQuestions } from "./data/question.ts";
export {
  type CheckCorpusOptions,
  type CheckProgress,
  type CorpusCheck,
  checkCorpus,
  type QuestionReport,
} from "./corpus-check/check-corpus.ts";
export { type PushedModel, type PushModelOptions, pushModel } from "./push/push-model.ts";
export type { HubOptions } from "./remote/files/hub.ts";
export { fetchModel } from "./remote/hub/fetch-model.ts";
export type { FetchedModel, FetchModelOptions } from "./remote/hub/fetch-place.ts";
export type { TitledText } from "./text/observation.ts";

/** The main entry: models, engines, agents, evaluation and training; the rest stands behind `seekrl/...`. */

export { type Baseline, baselineAgent } from "../apps/baselines/baselines.ts";
export { messageMarks, wordCodec } from "../connectors/endpoint/messages.ts";
export { type EndpointParts, endpointSource } from "../connectors/endpoint/text-sequence.ts";
export { Chat, type ChatOptions, type ChatRequest } from "../connectors/remote/chat.ts";
export {
  type ChatMessage,
  type Completion,
  type CompletionApi,
  type CompletionRequest,
  Completions,
  type CompletionsOptions,
} from "../connectors/remote/completions.ts";
export type { WorkerOptions, WorkerPoolOptions } from "../connectors/workers/worker-options.ts";
export { WorkerPool } from "../connectors/workers/worker-pool.ts";
export type { LossStats, ValueStats } from "./base/addon/training.ts";
export type { DeadlineLimits } from "./base/deadline.ts";
export { type ErrorCode, SeekError } from "./base/errors.ts";
export type { Turns } from "./base/streamed.ts";
export { ProcessGroup } from "./comm/process-group.ts";
export type { ProcessGroupOptions } from "./comm/process-group-options.ts";
export type { Constraint } from "./engine/constraint/constraint.ts";
export { Engine, type EngineStats } from "./engine/engine.ts";
export type { EngineOptions, OpenOptions } from "./engine/engine-options.ts";
export type { SamplingOptions } from "./engine/sampling-options.ts";
export type { Sequence } from "./engine/sequence.ts";
export type {
  GenerateOptions,
  ScoreOptions,
  Scores,
  Span,
  SpanChunk,
  SpanStop,
  VersionRun,
} from "./engine/span.ts";
export type { TokenTable } from "./engine/vocabulary.ts";
export { type Comparison, compareRuns, type Difference } from "./evaluate/compare.ts";
export { type Evaluation, evaluate, evaluateSets, type SetEvaluation } from "./evaluate/evaluate.ts";
export type { FigureName, Intervals, Means } from "./evaluate/figures.ts";
export type {
  EvaluateOptions,
  EvaluateSetsOptions,
  EvaluationProgress,
} from "./evaluate/options.ts";
export type { QuestionResult } from "./evaluate/question-result.ts";
export type { LostQuestion } from "./evaluate/run-set.ts";
export type { BootstrapOptions, Interval } from "./evaluate/statistics/bootstrap.ts";
export { calibrateSigma, type JudgedAnswer } from "./evaluate/statistics/calibrate-sigma.ts";
export { type Attempt, meanPassAtK, passAtK } from "./evaluate/statistics/pass-at-k.ts";
export type { SignTest } from "./evaluate/statistics/sign-test.ts";
export { Adapter } from "./model/adapter.ts";
export type { DecoderConfig, DecoderShape } from "./model/config/config.ts";
export type { Architecture } from "./model/config/families.ts";
export type { LayerType } from "./model/config/layers.ts";
export type { RopeScaling } from "./model/config/rope.ts";
export type { AdapterShape, LoraOptions } from "./model/form/lora-options.ts";
export {
  type CreateOptions,
  type LoadOptions,
  Model,
  type ModelOptions,
} from "./model/model.ts";
export type { StoredDtype } from "./model/model-folder.ts";
export type { Policy } from "./model/policy.ts";
export type { SaveOptions } from "./model/save.ts";
export type { QuantisedWeights } from "./model/weights-form.ts";
export { policyAnswer } from "./reward/reward.ts";
export {
  type Agent,
  type AgentFunction,
  type AskedQuestion,
  ownAgent,
  type PolicyAgent,
  type RolloutOptions,
} from "./rollout/agents/agent.ts";
export { type AgentParts, searchAgent } from "./rollout/agents/search-agent.ts";
export type { Limits } from "./rollout/limits.ts";
export type { Memory, MemoryAction, MemoryActionKind, MemoryRecord } from "./rollout/memory.ts";
export type { Loss } from "./rollout/run-questions.ts";
export type {
  GeneratedSpan,
  GenerateRequest,
  OpenSequence,
  PromptTemplate,
  Sampling,
  SequenceSource,
  StreamedIds,
  TextCodec,
  TokenSequence,
} from "./rollout/seams.ts";
export type { AgentEvent, EventOptions, TurnStop } from "./rollout/session/events.ts";
export type { Opening } from "./rollout/session/prompt.ts";
export type { Outcome, Rollout, RolloutParts } from "./rollout/session/rollout.ts";
export type { Session, Turn, TurnOptions } from "./rollout/session/session.ts";
export type {
  RecordedPassage,
  Segment,
  SegmentKind,
  StopReason,
  Timings,
  Trajectory,
} from "./rollout/trajectory.ts";
export type { QueryMode } from "./text/observation.ts";
export { ChatTemplate, type Message, type RenderOptions } from "./text/templates/chat-template.ts";
export type { Codec, EncodeParts, Marks, PairMarks } from "./text/tokenizers/codec.ts";
export { Detokenizer } from "./text/tokenizers/detokenizer.ts";
export type { Lead, PieceTable } from "./text/tokenizers/pieces.ts";
export type { SpecialIds } from "./text/tokenizers/special-ids.ts";
export { type DecodeOptions, type EncodeOptions, Tokenizer } from "./text/tokenizers/tokenizer.ts";
export type { Discount, GroupBaseline } from "./train/algorithm/advantage.ts";
export { type Aggregation, type Algorithm, algorithms, type KlTerm } from "./train/algorithm/algorithm.ts";
export type { KlTarget } from "./train/algorithm/kl-target.ts";
export type { KlEstimator } from "./train/algorithm/names.ts";
export type { OffPolicyCorrection } from "./train/algorithm/off-policy-correction.ts";
export { countSchedule, type Schedule, type ScheduleOptions, schedule } from "./train/algorithm/schedule.ts";
export type { TrainSegment } from "./train/batch/layout.ts";
export type { TrainSequence } from "./train/batch/packing.ts";
export { type LossOn, sftSequence } from "./train/batch/sequence.ts";
export type { Collapse, CollapseOptions, WatchedMetric } from "./train/collapse.ts";
export { Critic } from "./train/learner/critic.ts";
export type { Learner } from "./train/learner/learner.ts";
export type { AdamWOptions, LearnerOptions } from "./train/learner/learner-options.ts";
export { type LossOptions, Trainer } from "./train/learner/trainer.ts";
export type { ZeroLevel } from "./train/memory/plan.ts";
export { type OpenLearners, openLearners } from "./train/open-learners.ts";
export { rl } from "./train/rl.ts";
export type { Learners, RlBatch, RlMetrics, RlOptions, SampleRollouts, Task } from "./train/rl-options.ts";
export { RankRoles } from "./train/roles/rank-roles.ts";
export { type RollOutOptions, rollOut } from "./train/roles/roll-out.ts";
export type { BestOptions, RunOptions } from "./train/run/run-options.ts";
export type { Settings } from "./train/run/settings.ts";
export { epochs, type SftBatch, type SftMetrics, type SftOptions, sft } from "./train/sft.ts";

/** `seekrl/rewards`: from a trajectory to a number: metrics, judges, penalties, the published systems' rewards. */

export { type RemoteRewardOptions, remoteReward } from "../connectors/reward/remote-reward.ts";
export {
  type FewSearchesOptions,
  fewSearchesBonus,
  type GroupMember,
  type GroupReward,
} from "./reward/group.ts";
export {
  type JudgeModel,
  type JudgeOptions,
  judgeReward,
  relevanceReward,
  type Verdict,
} from "./reward/judge.ts";
export { exactMatch, f1 } from "./reward/metrics/metrics.ts";
export type { FaithfulOption } from "./reward/metrics/plain-score.ts";
export { type AnswerScores, type RulesName, scoreAnswer } from "./reward/metrics/rules.ts";
export { type OverlongOptions, overlongPenalty, repetitionPenalty } from "./reward/penalties.ts";
export type { Spoken } from "./reward/reading.ts";
export {
  emReward,
  f1Reward,
  type Reward,
  type RewardPart,
  type ScoredReward,
  type TokenReward,
  weightedReward,
} from "./reward/reward.ts";
export type { TaskRewards } from "./reward/score-trajectory.ts";
export {
  agenticAccuracyReward,
  agenticFormatReward,
  agenticFormReward,
  optionReward,
} from "./reward/systems/agentic-rag.ts";
export {
  type R1SearcherRewardOptions,
  type R1SearcherStage,
  r1SearcherReward,
  type SearchedText,
} from "./reward/systems/r1-searcher.ts";
export { reCallReward } from "./reward/systems/re-call.ts";
export {
  type Reasoned,
  type ReSearchRewardOptions,
  reSearchReward,
  reSearchScore,
} from "./reward/systems/re-search.ts";
export {
  type FormatScores,
  formatReward,
  retrievalReward,
} from "./reward/systems/search-r1.ts";
export type { TextFamily } from "./reward/text-trajectory.ts";

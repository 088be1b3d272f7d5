/** The list of commands, in the order in which a newcomer needs them. */
import type { Command } from "./command.ts";
import { askCommand } from "./commands/ask.ts";
import { corpusCheckCommand } from "./commands/corpus-check.ts";
import { corpusSplitCommand } from "./commands/corpus-split.ts";
import { dataGenerateCommand } from "./commands/data-generate.ts";
import { dataPrepareCommand } from "./commands/data-prepare.ts";
import { dataSegmentCommand } from "./commands/data-segment.ts";
import { dataSelectCommand } from "./commands/data-select.ts";
import { demoCommand } from "./commands/demo.ts";
import { demoAblationsCommand } from "./commands/demo-ablations.ts";
import { evalCommand } from "./commands/eval.ts";
import { evalCompareCommand } from "./commands/eval-compare.ts";
import { generateCommand } from "./commands/generate.ts";
import { indexBuildCommand } from "./commands/index-build.ts";
import { indexAddCommand, indexRemoveCommand } from "./commands/index-edit.ts";
import { indexInfoCommand } from "./commands/index-info.ts";
import { indexMergeCommand } from "./commands/index-merge.ts";
import { lintCommand } from "./commands/lint.ts";
import { retrieverServeCommand } from "./commands/retriever-serve.ts";
import { rewardServeCommand } from "./commands/reward-serve.ts";
import { scoreCommand } from "./commands/score.ts";
import { scoreAnswersCommand } from "./commands/score-answers.ts";
import { searchCommand } from "./commands/search.ts";
import { sftCommand } from "./commands/sft.ts";
import { tokenizeCommand } from "./commands/tokenize.ts";
import { trainCommand } from "./commands/train.ts";
import { worldCommand } from "./commands/world.ts";

/** Every command of the program. */
export const commands: readonly Command[] = [
  demoCommand,
  demoAblationsCommand,
  worldCommand,
  generateCommand,
  scoreCommand,
  tokenizeCommand,
  dataPrepareCommand,
  corpusSplitCommand,
  indexBuildCommand,
  indexAddCommand,
  indexRemoveCommand,
  indexMergeCommand,
  indexInfoCommand,
  corpusCheckCommand,
  searchCommand,
  retrieverServeCommand,
  lintCommand,
  dataGenerateCommand,
  dataSegmentCommand,
  sftCommand,
  dataSelectCommand,
  trainCommand,
  askCommand,
  evalCommand,
  evalCompareCommand,
  scoreAnswersCommand,
  rewardServeCommand,
];

/** What the commands whose names begin with one of these words are about. */
export const groups: Readonly<Record<string, string>> = {
  corpus: "document collections",
  data: "question sets, and training data made of them",
  index: "index folders",
  retriever: "retrieval as a service",
  reward: "rewards as a service",
};

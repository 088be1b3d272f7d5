/** The list of commands, in the order in which a newcomer needs them. */
import type { Command } from "./command.ts";
import { corpusCheckCommand } from "./corpus-check.ts";
import { corpusSplitCommand } from "./corpus-split.ts";
import { dataPrepareCommand } from "./data-prepare.ts";
import { demoCommand } from "./demo.ts";
import { evalCommand } from "./eval.ts";
import { evalCompareCommand } from "./eval-compare.ts";
import { generateCommand } from "./generate.ts";
import { indexBuildCommand } from "./index-build.ts";
import { indexAddCommand, indexRemoveCommand } from "./index-edit.ts";
import { indexInfoCommand } from "./index-info.ts";
import { indexMergeCommand } from "./index-merge.ts";
import { retrieverServeCommand } from "./retriever-serve.ts";
import { rewardServeCommand } from "./reward-serve.ts";
import { scoreCommand } from "./score.ts";
import { scoreAnswersCommand } from "./score-answers.ts";
import { searchCommand } from "./search.ts";
import { sftCommand } from "./sft.ts";
import { tokenizeCommand } from "./tokenize.ts";
import { trainCommand } from "./train.ts";
import { worldCommand } from "./world.ts";

/** Every command of the program. */
export const commands: readonly Command[] = [
  demoCommand,
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
  sftCommand,
  trainCommand,
  evalCommand,
  evalCompareCommand,
  scoreAnswersCommand,
  rewardServeCommand,
];

/** What the commands whose names begin with one of these words are about. */
export const groups: Readonly<Record<string, string>> = {
  corpus: "document collections",
  data: "question sets",
  index: "index folders",
  retriever: "retrieval as a service",
  reward: "rewards as a service",
};

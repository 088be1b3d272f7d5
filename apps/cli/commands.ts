/** The list of commands, in the order in which a newcomer needs them. */
import type { Command } from "./command.ts";
import { corpusCheckCommand } from "./commands/corpus/corpus-check.ts";
import { corpusSplitCommand } from "./commands/corpus/corpus-split.ts";
import { indexBuildCommand } from "./commands/corpus/index-build.ts";
import { indexAddCommand, indexRemoveCommand } from "./commands/corpus/index-edit.ts";
import { indexInfoCommand } from "./commands/corpus/index-info.ts";
import { indexMergeCommand } from "./commands/corpus/index-merge.ts";
import { indexSplitCommand } from "./commands/corpus/index-split.ts";
import { retrieverServeCommand } from "./commands/corpus/retriever-serve.ts";
import { searchCommand } from "./commands/corpus/search.ts";
import { dataGenerateCommand } from "./commands/data/data-generate.ts";
import { dataPrepareCommand } from "./commands/data/data-prepare.ts";
import { dataSegmentCommand } from "./commands/data/data-segment.ts";
import { dataSelectCommand } from "./commands/data/data-select.ts";
import { evalCommand } from "./commands/evaluate/eval.ts";
import { evalCompareCommand } from "./commands/evaluate/eval-compare.ts";
import { rewardServeCommand } from "./commands/evaluate/reward-serve.ts";
import { scoreAnswersCommand } from "./commands/evaluate/score-answers.ts";
import { launchOf } from "./commands/launch/launch.ts";
import { askCommand } from "./commands/model/ask.ts";
import { chatCommand } from "./commands/model/chat.ts";
import { generateCommand } from "./commands/model/generate.ts";
import { lintCommand } from "./commands/model/lint.ts";
import { mergeCommand } from "./commands/model/merge.ts";
import { pushCommand } from "./commands/model/push.ts";
import { quantizeCommand } from "./commands/model/quantize.ts";
import { scoreCommand } from "./commands/model/score.ts";
import { tokenizeCommand } from "./commands/model/tokenize.ts";
import { runsCompareCommand } from "./commands/runs/runs-compare.ts";
import { runsExportCommand } from "./commands/runs/runs-export.ts";
import { runsListCommand } from "./commands/runs/runs-list.ts";
import { runsShowCommand } from "./commands/runs/runs-show.ts";
import { runsTailCommand } from "./commands/runs/runs-tail.ts";
import { mcpServeCommand } from "./commands/serve/mcp-serve.ts";
import { serveCommand } from "./commands/serve/serve.ts";
import { doctorCommand } from "./commands/setup/doctor.ts";
import { initCommand } from "./commands/setup/init.ts";
import { setupCudaCommand } from "./commands/setup/setup-cuda.ts";
import { studioCommand } from "./commands/studio/studio.ts";
import { demoCommand } from "./commands/train/demo.ts";
import { demoAblationsCommand } from "./commands/train/demo-ablations.ts";
import { planCommand } from "./commands/train/plan.ts";
import { sftCommand } from "./commands/train/sft.ts";
import { trainCommand } from "./commands/train/train.ts";
import { worldCommand } from "./commands/train/world.ts";

/** Every command of the program. */
export const commands: readonly Command[] = [
  doctorCommand,
  setupCudaCommand,
  demoCommand,
  initCommand,
  demoAblationsCommand,
  worldCommand,
  serveCommand,
  mcpServeCommand,
  generateCommand,
  quantizeCommand,
  scoreCommand,
  tokenizeCommand,
  mergeCommand,
  pushCommand,
  dataPrepareCommand,
  corpusSplitCommand,
  indexBuildCommand,
  indexAddCommand,
  indexRemoveCommand,
  indexMergeCommand,
  indexSplitCommand,
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
  planCommand,
  launchOf(() => commands),
  askCommand,
  chatCommand,
  evalCommand,
  evalCompareCommand,
  scoreAnswersCommand,
  rewardServeCommand,
  runsListCommand,
  runsShowCommand,
  runsTailCommand,
  runsCompareCommand,
  runsExportCommand,
  studioCommand,
];

/** What the commands whose names begin with one of these words are about. */
export const groups: Readonly<Record<string, string>> = {
  corpus: "document collections",
  data: "question sets, and training data made of them",
  index: "index folders",
  mcp: "the search and the agent as tools for editors and chat applications",
  retriever: "retrieval as a service",
  reward: "rewards as a service",
  runs: "trainings and evaluations that were or are under way",
  setup: "what the machine needs",
};

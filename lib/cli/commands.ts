/** The list of commands, in the order in which a newcomer needs them. */
import { indexCommand } from "./build-index.ts";
import type { Command } from "./command.ts";
import { demoCommand } from "./demo.ts";
import { evalCommand } from "./eval.ts";
import { generateCommand } from "./generate.ts";
import { scoreCommand } from "./score.ts";
import { searchCommand } from "./search.ts";
import { sftCommand } from "./sft.ts";
import { tokenizeCommand } from "./tokenize.ts";
import { trainCommand } from "./train.ts";

/** Every command of the program. */
export const commands: readonly Command[] = [
  demoCommand,
  generateCommand,
  scoreCommand,
  tokenizeCommand,
  indexCommand,
  searchCommand,
  sftCommand,
  trainCommand,
  evalCommand,
];

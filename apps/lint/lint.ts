/** The linter: runs a few conversations with an agent's real parts and reports which laws hold. */

import { checkOptions } from "../../lib/base/check-options.ts";
import { throwIfAborted } from "../../lib/base/errors.ts";
import { checkLimits } from "./checks/loop/limits.ts";
import { checkLogprobs } from "./checks/loop/logprobs.ts";
import { checkLossSpans } from "./checks/loop/loss-spans.ts";
import { checkObservation } from "./checks/loop/observation.ts";
import { checkPacking } from "./checks/loop/packing.ts";
import { checkSearchAnswers } from "./checks/loop/search-answers.ts";
import { checkStuckSearch } from "./checks/loop/stuck-search.ts";
import { checkUnscoredText } from "./checks/loop/unscored-text.ts";
import { checkAcceptedAnswers } from "./checks/text/accepted-answers.ts";
import { checkChatTemplate } from "./checks/text/chat-template.ts";
import { checkEndOfTurn } from "./checks/text/end-of-turn.ts";
import { checkPrefix } from "./checks/text/prefix.ts";
import { checkStopStrings } from "./checks/text/stop-strings.ts";
import { checkTags } from "./checks/text/tags.ts";
import { checkTokenizerModel } from "./checks/text/tokenizer-model.ts";
import { checkVerbatimIds } from "./checks/text/verbatim-ids.ts";
import { type Conversation, type Conversations, conversationsOf, converseAll } from "./conversations.ts";
import { type Finding, verdict } from "./finding.ts";
import { lossSpans, type TrainedSpan } from "./render.ts";
import { type LintSubject, subjectKinds } from "./subject.ts";

/** What the linter found. */
export interface LintReport {
  /** Whether nothing failed. */
  readonly passed: boolean;
  readonly findings: readonly Finding[];
  /** The conversations as they would be trained. */
  readonly conversations: readonly { readonly name: string; readonly spans: readonly TrainedSpan[] }[];
}

const before = [
  checkChatTemplate,
  checkTokenizerModel,
  checkTags,
  checkLimits,
  checkAcceptedAnswers,
] as const;

const after: readonly ((all: Conversations) => Finding | Promise<Finding>)[] = [
  checkVerbatimIds,
  checkPrefix,
  checkLossSpans,
  checkEndOfTurn,
  checkObservation,
  checkUnscoredText,
  checkStopStrings,
  checkLogprobs,
  checkPacking,
  checkSearchAnswers,
  checkStuckSearch,
];

/**
 * The checks that need no rollout: template, tokenizer, tags, room in the window.
 *
 * @param subject - the agent's parts
 * @returns what was checked and seen
 */
export function quickLint(subject: LintSubject): Finding[] {
  const findings: Finding[] = [];
  try {
    for (const check of before) findings.push(check(subject));
  } catch (error) {
    findings.push(cannotConverse(error));
  }
  return findings;
}

function cannotConverse(error: unknown): Finding {
  return verdict({ check: "conversations can be run and scored" }, [(error as Error).message], "");
}

/**
 * Runs conversations with an agent and checks the laws of training on them: one that the engine samples, and some whose
 * turns are written for the model so that they search, answer, end, read a hostile passage and wait for a search in vain.
 *
 * @param subject - the agent's parts, the trained weights, the reward
 * @returns what was checked and seen; a broken agent is a finding, not an error
 * @throws ERR_ABORTED when the signal fires
 * @example
 * const { format, limits, sampling, reward } = ragR1({ queries: "single" });
 * const parts = { engine, tokenizer, search, format, limits, sampling };
 * const { findings } = await lint({ parts, tokenizer, model, reward, question: questions[0] });
 * assert.ok(findings.some(({ check, status }) => check.startsWith("generator and trainer") && status === "pass"));
 */
export async function lint(subject: LintSubject): Promise<LintReport> {
  checkOptions("lint", subject, subjectKinds, ["parts", "tokenizer", "model", "reward", "question"]);
  const findings: Finding[] = [];
  let conversations: Conversation[] = [];
  try {
    for (const check of before) findings.push(check(subject));
    const all = await converseAll(subject);
    conversations = conversationsOf(all);
    for (const check of after) findings.push(await check(all));
  } catch (error) {
    throwIfAborted(subject.signal, "lint");
    findings.push(cannotConverse(error));
  }
  const { tokenizer } = subject;
  return {
    passed: findings.every(({ status }) => status !== "fail"),
    findings,
    conversations: conversations.flatMap(({ name, sequences }) =>
      sequences.map((sequence) => ({ name, spans: lossSpans(sequence, tokenizer) })),
    ),
  };
}

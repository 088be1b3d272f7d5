/** The recipe's limits leave room for a search and an answer in the model's context. */

import { promptText } from "../../../../lib/rollout/session/prompt.ts";
import { boundLimits } from "../../../../lib/rollout/session/rollout.ts";
import { type Finding, verdict } from "../../finding.ts";
import type { LintSubject } from "../../subject.ts";

const subject = { check: "the context has room for a search and an answer" };

/** What a turn takes that may be as long as the whole conversation: it must leave room for this much at least. */
const shortTurn = 256;

/**
 * Adds up the longest turn, the longest observation and another turn. A recipe whose turns or observations may fill the
 * conversation (ReSearch) shares its tokens out as they are needed: of these a short one must fit.
 */
export function checkLimits({ parts, question }: LintSubject): Finding {
  const { format, limits, tokenizer, engine } = parts;
  const prompt = tokenizer.encode(promptText(format, question.question, parts.chatTemplate)).length;
  const { maxTokens } = boundLimits(parts);
  const longest = (tokens: number): number => (tokens > limits.maxTokens / 2 ? shortTurn : tokens);
  const turn = longest(limits.maxResponseTokens);
  const round = turn + longest(limits.maxObservationTokens) * Math.min(format.maxQueries, 3);
  const needed = prompt + round + turn;
  const rounds = Math.floor((maxTokens - prompt - turn) / round);
  const own = engine.maxTokens === undefined ? "" : `, the model ${engine.maxTokens}`;
  const short =
    turn < limits.maxResponseTokens ? ` (short turns: ${limits.maxResponseTokens} may be used in all)` : "";
  const sizes = `prompt ${prompt}, a round up to ${round}, an answer up to ${turn}${short}`;
  const problem = `${sizes}: ${needed} tokens, the recipe allows ${limits.maxTokens}${own}`;
  const full = Math.min(rounds, limits.maxTurns - 1);
  const most = Number.isFinite(limits.maxTurns) ? ` of ${limits.maxTurns - 1}` : "";
  const seen = `${sizes}; ${full}${most} rounds fit ${short === "" ? "at full length " : ""}into ${maxTokens}`;
  return verdict(subject, needed <= maxTokens ? [] : [problem], seen);
}

/** The recipe's limits leave room for a search and an answer in the model's context. */
import { boundLimits, promptText } from "../../rollout/agents/agent.ts";
import { type Finding, verdict } from "../finding.ts";
import type { LintSubject } from "../subject.ts";

const subject = { check: "the context has room for a search and an answer" };

/** Adds up the longest turn, the longest observation and another turn. */
export function checkLimits({ parts, question }: LintSubject): Finding {
  const { format, limits, tokenizer, engine } = parts;
  const prompt = tokenizer.encode(promptText(format, question.question, parts.chatTemplate)).length;
  const { maxTokens } = boundLimits(parts);
  const numQueries = Math.min(format.maxQueries, 3);
  const round = limits.maxResponseTokens + limits.maxObservationTokens * numQueries;
  const needed = prompt + round + limits.maxResponseTokens;
  const rounds = Math.floor((maxTokens - prompt - limits.maxResponseTokens) / round);
  const own = engine.maxTokens === undefined ? "" : `, the model ${engine.maxTokens}`;
  const sizes = `prompt ${prompt}, a round up to ${round}, an answer up to ${limits.maxResponseTokens}`;
  const problem = `${sizes}: ${needed} tokens, the recipe allows ${limits.maxTokens}${own}`;
  const full = Math.min(rounds, limits.maxTurns - 1);
  const seen = `${sizes}; ${full} of ${limits.maxTurns - 1} rounds fit at full length into ${maxTokens}`;
  return verdict(subject, needed <= maxTokens ? [] : [problem], seen);
}

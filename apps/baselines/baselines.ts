/** Plain ways to answer, to compare agents with: one method a file, all over the same engine and search. */
import { checkArgument } from "../../lib/base/check-options.ts";
import { type AgentFunction, ownAgent, type PolicyAgent } from "../../lib/rollout/agents/agent.ts";
import type { RolloutParts } from "../../lib/rollout/session/rollout.ts";
import { flare } from "./flare.ts";
import { ircot } from "./ircot.ts";
import { iterRetGen } from "./iter-retgen.ts";
import { chainOfThought, direct } from "./memory.ts";
import { givenDocuments, naiveRag, standardRag } from "./rag.ts";
import { searchO1 } from "./search-o1.ts";
import { selfAsk } from "./self-ask.ts";
import { sure } from "./sure.ts";

const methods = {
  direct,
  cot: chainOfThought,
  rag: standardRag,
  naive: naiveRag,
  given: givenDocuments,
  "iter-retgen": iterRetGen,
  ircot,
  "self-ask": selfAsk,
  "search-o1": searchO1,
  sure,
  flare,
} as const satisfies Readonly<Record<string, AgentFunction>>;

/**
 * - `direct` the answer at once, without a search
 * - `cot` reasoning, then the answer, without a search
 * - `rag` one search for the question, then the answer
 * - `naive` the same, with the documents in the system's message
 * - `given` the documents that stand with the question, then the answer
 * - `iter-retgen` three times over: a search for the question and the last turn, reasoning, an answer
 * - `ircot` up to five times: a search for the last thought, one more thought, until a thought holds the answer
 * - `self-ask` up to five smaller questions, each searched for, in one conversation
 * - `search-o1` up to ten searches; a reader takes what is useful from the documents
 * - `sure` one search, candidates, a summary in favour of each, a choice
 * - `flare` a search for each sentence with a doubtful token, which is then written again
 */
export type Baseline = keyof typeof methods;

/** The names, in the order of the list above. */
export const baselineNames = Object.keys(methods) as [Baseline, ...Baseline[]];

/** Whether a baseline searches at all. */
export function searchesFor(baseline: Baseline): boolean {
  return !["direct", "cot", "given"].includes(baseline);
}

/** Whether a baseline looks at how likely tokens were. */
export function needsLogprobs(baseline: Baseline): boolean {
  return baseline === "flare";
}

/**
 * An agent that answers in a plain way, over the same engine and search as others.
 *
 * @param parts - engine, tokenizer, search, limits
 * @param baseline - which way
 * @returns an agent; what it finds stands in its trajectory as observations
 * @throws ERR_ARGUMENT for an unknown part or baseline; ERR_ARGUMENT from the agent: `given` without documents
 * @example
 * const { limits, sampling } = ragR1({ queries: "single" });
 * const agent = baselineAgent({ engine, tokenizer, search, limits, sampling }, "rag");
 * const { rounds } = await agent({ question: "who?" });
 * assert.equal(rounds, 1);
 */
export function baselineAgent(parts: RolloutParts, baseline: Baseline): PolicyAgent {
  checkArgument("baselineAgent: baseline", baseline, baselineNames);
  return ownAgent(parts, methods[baseline]);
}

/** Search-o1: reasoning that searches; each document is first read in a session of its own (Li et al., 2025). */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import { firstBlock, tagsOf } from "../../lib/rollout/grammars/blocks.ts";
import { parseTurn, turnEnds } from "../../lib/rollout/grammars/grammar.ts";
import { documentsHere } from "../../lib/rollout/session/prompt.ts";
import { type Rollout, wholeText } from "../../lib/rollout/session/rollout.ts";
import type { TitledText } from "../../lib/text/observation.ts";
import { failedSearch, information, questionPrompt, say, shownDocuments } from "./wording.ts";

const maxSearches = 10;
const usefulTags = tagsOf("useful");

const instructions = `\
Reason step by step. Whenever you are unsure of a fact, search: write the query inside <search> and </search>. What is \
useful in the documents then stands between <information> and </information>; go on reasoning from there. You can \
search up to ${maxSearches} times. ${say.atOnce} ${say.example}`;

const notes = {
  repeated: "This was searched for before. What was found then still holds.",
  exhausted: "No search is left. Give the answer now.",
  nothing: "Nothing useful was found.",
} as const;

/** Reasoning with up to ten searches; of what is found, only what a reader took from it enters the session. */
export const searchO1: AgentFunction = async (rollout, { question }) => {
  const session = await rollout.open({ prompt: questionPrompt(instructions, question) });
  const asked = new Set<string>();
  let reasoning = "";
  // One turn beyond the searches to be told that none is left, and one to answer.
  for (let turn = 0; turn < maxSearches + 2; turn++) {
    const { text, stop } = await session.generate({ stop: turnEnds });
    const action = parseTurn(text);
    if (action.kind === "answer") return action.answer;
    if (action.kind !== "search" || stop !== "stop") {
      rollout.invalidActions += 1;
      return undefined;
    }
    reasoning += text;
    const observed = await observe(rollout, { question, reasoning, query: action.queries[0] ?? "", asked });
    reasoning += observed;
    await session.append(observed);
  }
  return { stop: "max_turns" };
};

interface Step {
  readonly question: string;
  readonly reasoning: string;
  readonly query: string;
  readonly asked: Set<string>;
}

async function observe(rollout: Rollout, step: Step): Promise<string> {
  const { query, asked } = step;
  if (asked.has(query)) return information(notes.repeated);
  if (asked.size === maxSearches) return information(notes.exhausted);
  asked.add(query);
  const documents = await rollout.search(query);
  if (documents === undefined) return failedSearch;
  return information(await usefulPart(rollout, step, documents));
}

/** The reader: another session, which sees the reasoning so far, the query and the documents. */
async function usefulPart(
  rollout: Rollout,
  { question, reasoning, query }: Step,
  documents: readonly TitledText[],
): Promise<string> {
  const prompt = `\
Somebody reasons about a question and has searched for something. Read the documents and write down what helps to go on \
with the reasoning: facts that answer the query, in a few sentences, nothing else. Put them inside <useful> and \
</useful>. If nothing helps, write <useful> nothing </useful>.
Question: ${question}
Reasoning so far:
${lastPart(rollout, reasoning)}
Query: ${query}
Documents:${documentsHere}`;
  const opening = { prompt, documents: shownDocuments(rollout, query, documents) };
  const { text } = await rollout.generate(opening, [usefulTags.close]);
  const useful = firstBlock(text, usefulTags)?.content ?? "";
  return /^(nothing\b.{0,10})?$/i.test(useful) ? notes.nothing : rollout.shorten(useful);
}

/** The end of a text, at most as long as an observation may be. */
function lastPart({ limits, tokenizer }: Rollout, text: string): string {
  const ids = tokenizer.encode(text, { parseSpecialTokens: false });
  const { maxObservationTokens } = limits;
  return ids.length <= maxObservationTokens ? text : wholeText(tokenizer, ids.slice(-maxObservationTokens));
}

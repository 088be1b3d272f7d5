/** SuRe, as TC-RAG compares with it: two candidates, a summary in favour of each, a choice (Kim et al., 2024). */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import { asQuestion } from "../../lib/rollout/formats/format.ts";
import type { Rollout } from "../../lib/rollout/session/rollout.ts";
import { answerEnds, answerIn, questionPrompt, say, shownDocuments } from "./wording.ts";

const numCandidates = 5;
const letterOf = (index: number): string => String.fromCharCode("a".charCodeAt(0) + index);

/** One search; candidates from what was found, a summary of it for each candidate, then the choice between them. */
export const sure: AgentFunction = async (rollout, { question }) => {
  const documents = shownDocuments(rollout, question, await rollout.search(question));
  const candidates = await proposed(rollout, question, documents);
  const [only, ...others] = candidates;
  if (only === undefined) {
    rollout.invalidActions += 1;
    return undefined;
  }
  if (others.length === 0) return only;
  const summaries = await Promise.all(
    candidates.map((candidate) => summaryFor(rollout, { question, documents, candidates, candidate })),
  );
  return chosen(rollout, question, { candidates, summaries });
};

async function proposed(rollout: Rollout, question: string, documents: string): Promise<string[]> {
  const wanted =
    'Write down two likely answers on one line, in this form: "(a) first answer (b) second answer".';
  const { text } = await rollout.generate(
    { prompt: questionPrompt(say.documents + wanted, question), documents },
    ["\n"],
  );
  return candidatesIn(text);
}

/** What stands behind (a), (b), ... in order; a text without such marks is one candidate. */
function candidatesIn(text: string): string[] {
  const parts = text.split(/\([a-e]\)/);
  const marked = parts.length > 1 ? parts.slice(1) : parts;
  const trimmed = marked.map((part) => part.replace(/^[\s,.;]+|[\s,.;]+$/g, ""));
  return [...new Set(trimmed.filter((part) => part !== ""))].slice(0, numCandidates);
}

const listed = (candidates: readonly string[]): string =>
  candidates.map((candidate, i) => `(${letterOf(i)}) ${candidate}`).join(" ");

interface Case {
  readonly question: string;
  readonly documents: string;
  readonly candidates: readonly string[];
  readonly candidate: string;
}

async function summaryFor(
  rollout: Rollout,
  { question, documents, candidates, candidate }: Case,
): Promise<string> {
  const wanted =
    `${say.documents}Candidates: ${listed(candidates)}\nSuppose that the answer is "${candidate}". ` +
    "Summarise in a few sentences on one line what in the documents speaks for it.";
  const { text } = await rollout.generate({ prompt: questionPrompt(wanted, question), documents }, ["\n"]);
  return text.trim();
}

async function chosen(
  rollout: Rollout,
  question: string,
  {
    candidates,
    summaries,
  }: { readonly candidates: readonly string[]; readonly summaries: readonly string[] },
): Promise<string | undefined> {
  const cases = summaries.map((summary, i) => `Summary for (${letterOf(i)}): ${summary}`).join("\n");
  const prompt =
    `Choose the best answer to the question.\nQuestion: ${asQuestion(question)}\n${cases}\n` +
    `Candidates: ${listed(candidates)}\nWeigh the summaries against each other. ${say.atOnce} ${say.example}\n`;
  const { text } = await rollout.generate({ prompt }, answerEnds);
  const answer = answerIn(text);
  if (answer === undefined) rollout.invalidActions += 1;
  // A letter stands for its candidate.
  const [, letter] = /^\(?([a-e])\)?$/.exec(answer ?? "") ?? [];
  return letter === undefined ? answer : (candidates[letter.charCodeAt(0) - "a".charCodeAt(0)] ?? answer);
}

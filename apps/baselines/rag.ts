/** Reads before it answers: documents of one search, or those that stand with the question. */
import { SeekError } from "../../lib/base/errors.ts";
import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import { asQuestion } from "../../lib/rollout/formats/format.ts";
import { documentsHere, type Opening } from "../../lib/rollout/session/prompt.ts";
import { type Rollout, wholeText } from "../../lib/rollout/session/rollout.ts";
import type { TitledText } from "../../lib/text/observation.ts";
import {
  answerEnds,
  answerIn,
  failedSearch,
  information,
  questionPrompt,
  say,
  shownDocuments,
} from "./wording.ts";

async function answered(rollout: Rollout, opening: Opening): Promise<string | undefined> {
  const { text } = await rollout.generate(opening, answerEnds);
  const answer = answerIn(text);
  if (answer === undefined) rollout.invalidActions += 1;
  return answer;
}

const reading = (question: string): string =>
  questionPrompt(`${say.documents}${say.atOnce} ${say.example}`, question);

/** One search for the question; what it brought stands before the question. */
export const standardRag: AgentFunction = async (rollout, { question }) => {
  const documents = shownDocuments(rollout, question, await rollout.search(question));
  return answered(rollout, { prompt: reading(question), documents });
};

/** The same in the layout of ReSearch's evaluation: documents in the system's message, titles in brackets. */
export const naiveRag: AgentFunction = async (rollout, { question }) => {
  const found = await rollout.search(question);
  const documents = found === undefined ? failedSearch : rollout.shorten(bracketed(found));
  const system =
    "Answer the question from your own knowledge and from the documents given. " +
    `${say.atOnce} ${say.example}\nDocuments:\n${documentsHere}`;
  return answered(rollout, { system, prompt: `Question: ${asQuestion(question)}\n`, documents });
};

function bracketed(documents: readonly TitledText[]): string {
  return documents.map(({ title, text }, i) => `Doc ${i + 1}(Title: ${title}) ${text}`).join("\n");
}

/**
 * The documents that stand with the question, as LongBench gives them; where they are too long, their middle is left out.
 */
export const givenDocuments: AgentFunction = async (rollout, { id, question, documents }) => {
  if (documents === undefined || documents.length === 0) {
    const remedy = "seekrl data prepare --keep-contexts keeps those of a set";
    throw new SeekError("ERR_ARGUMENT", `question ${id}: expected documents, got none; ${remedy}`);
  }
  const prompt = reading(question);
  const text = documents
    .map(({ title, text: body }) => (title === "" ? body : `${title}\n${body}`))
    .join("\n\n");
  return answered(rollout, { prompt, documents: information(withoutMiddle(rollout, text, prompt)) });
};

/** Both ends of a text, the middle left out, at most as long as a session can hold besides `others`. */
function withoutMiddle({ limits, tokenizer }: Rollout, text: string, others: string): string {
  const encode = (each: string): Int32Array => tokenizer.encode(each, { parseSpecialTokens: false });
  // The template's marks, and what cutting adds, need a little room too.
  const room = Math.max(0, limits.maxTokens - limits.maxResponseTokens - encode(others).length - 64);
  const ids = encode(text);
  if (ids.length <= room) return text;
  const half = Math.floor(room / 2);
  const [start, end] = [ids.subarray(0, half), ids.subarray(ids.length - half)];
  return `${wholeText(tokenizer, start)}\n...\n${wholeText(tokenizer, end)}`;
}

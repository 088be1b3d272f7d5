/** Reads before it answers: documents of one search, or those that stand with the question. */
import { SeekError } from "../../base/errors.ts";
import type { Document } from "../../text/observation.ts";
import { documentsHere, type Method, type Opening, type Work } from "../agents/work.ts";
import { asQuestion } from "../formats/format.ts";
import {
  answerEnds,
  answerIn,
  failedSearch,
  information,
  questionPrompt,
  say,
  shownDocuments,
} from "./wording.ts";

async function answered(work: Work, opening: Opening): Promise<string | undefined> {
  const { text } = await work.ask(opening, answerEnds);
  const answer = answerIn(text);
  if (answer === undefined) work.invalidActions += 1;
  return answer;
}

const reading = (question: string): string =>
  questionPrompt(`${say.documents}${say.atOnce} ${say.example}`, question);

/** One search for the question; what it brought stands before the question. */
export const standardRag: Method = async (work, { question }) => {
  const documents = shownDocuments(work, question, await work.find(question));
  return answered(work, { prompt: reading(question), documents });
};

/** The same in the layout of ReSearch's evaluation: documents in the system's message, titles in brackets. */
export const naiveRag: Method = async (work, { question }) => {
  const found = await work.find(question);
  const documents = found === undefined ? failedSearch : work.shorten(bracketed(found));
  const system =
    "Answer the question from your own knowledge and from the documents given. " +
    `${say.atOnce} ${say.example}\nDocuments:\n${documentsHere}`;
  return answered(work, { system, prompt: `Question: ${asQuestion(question)}\n`, documents });
};

function bracketed(documents: readonly Document[]): string {
  return documents.map(({ title, text }, i) => `Doc ${i + 1}(Title: ${title}) ${text}`).join("\n");
}

/**
 * The documents that stand with the question, as LongBench gives them; where they are too long, their middle is left out.
 */
export const givenDocuments: Method = async (work, { id, question, documents }) => {
  if (documents === undefined || documents.length === 0) {
    const remedy = "seekrl data prepare --keep-contexts keeps those of a set";
    throw new SeekError("ERR_ARGUMENT", `question ${id}: expected documents, got none; ${remedy}`);
  }
  const prompt = reading(question);
  const text = documents
    .map(({ title, text: body }) => (title === "" ? body : `${title}\n${body}`))
    .join("\n\n");
  return answered(work, { prompt, documents: information(work.shortenMiddle(text, prompt)) });
};

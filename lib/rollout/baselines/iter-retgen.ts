/** Iter-RetGen: what was said is searched for, what was found is read, in turns (Shao et al., 2023). */

import type { Method } from "../agents/work.ts";
import { answerEnds, answerIn, questionPrompt, say, shownDocuments, withoutTags } from "./wording.ts";

const kRounds = 3;

/** Three times over: a search for the question and what was said before, reasoning, an answer; the last one counts. */
export const iterRetGen: Method = async (work, { question }) => {
  const prompt = questionPrompt(`${say.documents}${say.reasoned} ${say.example}`, question);
  let said = "";
  let answer: string | undefined;
  for (let round = 0; round < kRounds && !work.isAborted; round++) {
    const query = `${question} ${withoutTags(said).trim()}`.trim();
    const documents = shownDocuments(work, query, await work.find(query));
    said = (await work.ask({ prompt, documents }, answerEnds)).text;
    answer = answerIn(said);
    if (answer === undefined) work.invalidActions += 1;
  }
  return answer;
};

/** Iter-RetGen: what was said is searched for, what was found is read, in turns (Shao et al., 2023). */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import { answerEnds, answerIn, questionPrompt, say, shownDocuments, withoutTags } from "./wording.ts";

const numRounds = 3;

/** Three times over: a search for the question and what was said before, reasoning, an answer; the last one counts. */
export const iterRetGen: AgentFunction = async (rollout, { question }) => {
  const prompt = questionPrompt(`${say.documents}${say.reasoned} ${say.example}`, question);
  let said = "";
  let answer: string | undefined;
  for (let round = 0; round < numRounds && !rollout.isAborted; round++) {
    const query = `${question} ${withoutTags(said).trim()}`.trim();
    const documents = shownDocuments(rollout, query, await rollout.search(query));
    said = (await rollout.generate({ prompt, documents }, answerEnds)).text;
    answer = answerIn(said);
    if (answer === undefined) rollout.invalidActions += 1;
  }
  return answer;
};

/** IRCoT: each thought is searched for before the next one (Trivedi et al., 2023). */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import type { TitledText } from "../../lib/text/observation.ts";
import {
  answerEnds,
  answerIn,
  questionPrompt,
  say,
  shownDocuments,
  withoutRepeats,
  withoutTags,
} from "./wording.ts";

const maxThoughts = 5;

/** Up to five thoughts: a search for the last one, then the next, until one holds the answer. */
export const ircot: AgentFunction = async (rollout, { question }) => {
  const prompt = questionPrompt(`${say.documents}${say.byLines} ${say.example}`, question);
  let known: TitledText[] | undefined;
  let [thought, prefix] = ["", ""];
  for (let step = 0; step < maxThoughts && !rollout.isAborted; step++) {
    const query = thought || question;
    const found = await rollout.search(query);
    if (found !== undefined) known = withoutRepeats([...found, ...(known ?? [])]);
    const documents = shownDocuments(rollout, query, known);
    const { text, stop } = await rollout.generate({ prompt, documents, prefix }, [...answerEnds, "\n"]);
    const answer = answerIn(text);
    if (answer !== undefined || stop === "length" || stop === "context") return answer;
    thought = withoutTags(text).trim();
    prefix += `${thought}\n`;
  }
  return { stop: "max_turns" };
};

/** FLARE: a sentence that the model was unsure of is searched for and written again (Jiang et al., 2023). */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import type { Rollout } from "../../lib/rollout/session/rollout.ts";
import type { Turn } from "../../lib/rollout/session/session.ts";
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

const maxSentences = 10;
/** A token below this probability is doubtful. */
const leastProbability = 0.2;

/** Up to ten sentences, one a line; the query for a doubtful one is what is certain of it. */
export const flare: AgentFunction = async (rollout, { question }) => {
  const how = `${say.byLines} ${say.example}`;
  let known: TitledText[] = [];
  let prefix = "";
  for (let step = 0; step < maxSentences && !rollout.isAborted; step++) {
    let turn = await nextSentence(rollout, question, { how, known, prefix });
    if (isDoubtful(turn)) {
      const query = certainPart(rollout, turn) || question;
      const found = await rollout.search(query);
      known = withoutRepeats([...(found ?? []), ...known]);
      turn = await nextSentence(rollout, question, { how, known, prefix });
    }
    const answer = answerIn(turn.text);
    if (answer !== undefined || turn.stop === "length" || turn.stop === "context") return answer;
    prefix += `${withoutTags(turn.text).trim()}\n`;
  }
  return { stop: "max_turns" };
};

interface Before {
  readonly how: string;
  readonly known: readonly TitledText[];
  readonly prefix: string;
}

function nextSentence(rollout: Rollout, question: string, { how, known, prefix }: Before): Promise<Turn> {
  const ends = [...answerEnds, "\n"];
  if (known.length === 0) return rollout.generate({ prompt: questionPrompt(how, question), prefix }, ends);
  const documents = shownDocuments(rollout, question, known);
  return rollout.generate({ prompt: questionPrompt(say.documents + how, question), documents, prefix }, ends);
}

function isDoubtful({ logprobs }: Turn): boolean {
  return logprobs.some((logprob) => logprob < Math.log(leastProbability));
}

function certainPart(rollout: Rollout, { ids, logprobs }: Turn): string {
  const certain = ids.filter((_, i) => (logprobs[i] ?? 0) >= Math.log(leastProbability));
  return withoutTags(rollout.tokenizer.decode(certain)).replace(/\s+/g, " ").trim();
}

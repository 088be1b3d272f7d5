/** FLARE: a sentence that the model was unsure of is searched for and written again (Jiang et al., 2023). */
import type { Document } from "../../text/observation.ts";
import type { Said } from "../agents/talk.ts";
import type { Method, Work } from "../agents/work.ts";
import {
  answerEnds,
  answerIn,
  questionPrompt,
  say,
  shownDocuments,
  withoutRepeats,
  withoutTags,
} from "./wording.ts";

const kSentences = 10;
/** A token below this probability is doubtful. */
const kDoubt = 0.2;

/** Up to ten sentences, one a line; the query for a doubtful one is what is certain of it. */
export const flare: Method = async (work, { question }) => {
  const how = `${say.byLines} ${say.example}`;
  let known: Document[] = [];
  let prefix = "";
  for (let step = 0; step < kSentences && !work.isAborted; step++) {
    let said = await nextSentence(work, question, { how, known, prefix });
    if (isDoubtful(said)) {
      const query = certainPart(work, said) || question;
      const found = await work.find(query);
      known = withoutRepeats([...(found ?? []), ...known]);
      said = await nextSentence(work, question, { how, known, prefix });
    }
    const answer = answerIn(said.text);
    if (answer !== undefined || said.stop === "length" || said.stop === "context") return answer;
    prefix += `${withoutTags(said.text).trim()}\n`;
  }
  work.ranOut = true;
  return undefined;
};

interface Before {
  readonly how: string;
  readonly known: readonly Document[];
  readonly prefix: string;
}

function nextSentence(work: Work, question: string, { how, known, prefix }: Before): Promise<Said> {
  const ends = [...answerEnds, "\n"];
  if (known.length === 0) return work.ask({ prompt: questionPrompt(how, question), prefix }, ends);
  const documents = shownDocuments(work, question, known);
  return work.ask({ prompt: questionPrompt(say.documents + how, question), documents, prefix }, ends);
}

function isDoubtful({ logprobs }: Said): boolean {
  return logprobs.some((logprob) => logprob < Math.log(kDoubt));
}

function certainPart(work: Work, { ids, logprobs }: Said): string {
  const certain = ids.filter((_, i) => (logprobs[i] ?? 0) >= Math.log(kDoubt));
  return withoutTags(work.decode(certain)).replace(/\s+/g, " ").trim();
}

/** Self-Ask: the question is taken apart into smaller ones, each of which is searched for (Press et al., 2022). */

import type { Method } from "../agents/work.ts";
import { answerEnds, answerIn, questionPrompt, shownDocuments } from "./wording.ts";

const kQuestions = 5;
const asks = "Follow up:";
const answers = "Intermediate answer:";

const instructions = `\
If the question needs several steps, take it apart: write "${asks}" and one smaller question on a line, then \
"${answers}", and wait for documents. Read them, write the answer to the smaller question on that line, and go on with \
the next one. Once you know all you need, give the final answer alone inside <answer> and </answer>. For example:
${asks} Who wrote Emma?
${answers} Jane Austen
${asks} Where was Jane Austen born?
${answers} Steventon
<answer> Steventon </answer>`;

/** Up to five smaller questions in one conversation; documents for each follow where its answer is due. */
export const selfAsk: Method = async (work, { question }) => {
  const talk = await work.open({ prompt: questionPrompt(instructions, question) });
  for (let step = 0; step <= kQuestions; step++) {
    const { text, stop } = await talk.say([...answerEnds, answers]);
    const answer = answerIn(text);
    const smaller = lastQuestion(text);
    // A server may leave out what ended the turn; a question says enough.
    if (answer !== undefined || (stop !== "stop" && smaller === undefined)) return answer;
    if (smaller === undefined) work.invalidActions += 1;
    if (step === kQuestions) break;
    const query = smaller ?? question;
    const isLast = step === kQuestions - 1;
    const documents = shownDocuments(work, query, await work.find(query));
    await talk.hear(
      isLast ? `${documents}No more questions can be asked. Give the final answer.\n` : documents,
    );
  }
  work.ranOut = true;
  return undefined;
};

/** What stands behind the last mark of a question, on its line. */
function lastQuestion(text: string): string | undefined {
  const at = text.lastIndexOf(asks);
  const line = at < 0 ? "" : (text.slice(at + asks.length).split("\n")[0] ?? "");
  return line.replace(answers, "").trim() || undefined;
}

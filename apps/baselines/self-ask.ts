/** Self-Ask: the question is taken apart into smaller ones, each of which is searched for (Press et al., 2022). */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import { answerEnds, answerIn, questionPrompt, shownDocuments } from "./wording.ts";

const maxQuestions = 5;
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

/** Up to five smaller questions in one session; documents for each follow where its answer is due. */
export const selfAsk: AgentFunction = async (rollout, { question }) => {
  const session = await rollout.open({ prompt: questionPrompt(instructions, question) });
  for (let step = 0; step <= maxQuestions; step++) {
    const { text, stop } = await session.generate({ stop: [...answerEnds, answers] });
    const answer = answerIn(text);
    const smaller = lastQuestion(text);
    // A server may leave out what ended the turn; a question says enough.
    if (answer !== undefined || (stop !== "stop" && smaller === undefined)) return answer;
    if (smaller === undefined) rollout.invalidActions += 1;
    if (step === maxQuestions) break;
    const query = smaller ?? question;
    const isLast = step === maxQuestions - 1;
    const documents = shownDocuments(rollout, query, await rollout.search(query));
    await session.append(
      isLast ? `${documents}No more questions can be asked. Give the final answer.\n` : documents,
    );
  }
  return { stop: "max_turns" };
};

/** What stands behind the last mark of a question, on its line. */
function lastQuestion(text: string): string | undefined {
  const at = text.lastIndexOf(asks);
  const line = at < 0 ? "" : (text.slice(at + asks.length).split("\n")[0] ?? "");
  return line.replace(answers, "").trim() || undefined;
}

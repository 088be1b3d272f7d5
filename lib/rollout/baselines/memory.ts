/** Answers from memory: at once, or by a chain of thought. */

import type { Method } from "../agents/work.ts";
import { answerEnds, answerIn, questionPrompt, say } from "./wording.ts";

function fromMemory(how: string): Method {
  return async (work, { question }) => {
    const { text } = await work.ask(
      { prompt: questionPrompt(`${how} ${say.example}`, question) },
      answerEnds,
    );
    const answer = answerIn(text);
    if (answer === undefined) work.invalidActions += 1;
    return answer;
  };
}

/** The answer, without a word before it. */
export const direct: Method = fromMemory(say.atOnce);

/** Reasoning, then the answer. */
export const chainOfThought: Method = fromMemory(say.reasoned);

/** Answers from memory: at once, or by a chain of thought. */

import type { AgentFunction } from "../../lib/rollout/agents/agent.ts";
import { answerEnds, answerIn, questionPrompt, say } from "./wording.ts";

function fromMemory(how: string): AgentFunction {
  return async (rollout, { question }) => {
    const { text } = await rollout.generate(
      { prompt: questionPrompt(`${how} ${say.example}`, question) },
      answerEnds,
    );
    const answer = answerIn(text);
    if (answer === undefined) rollout.invalidActions += 1;
    return answer;
  };
}

/** The answer, without a word before it. */
export const direct: AgentFunction = fromMemory(say.atOnce);

/** Reasoning, then the answer. */
export const chainOfThought: AgentFunction = fromMemory(say.reasoned);

/** Evaluates a scripted agent that takes its time, to be killed: `node slow-evaluation.js FILE MS`; prints the figures. */
import { setTimeout } from "node:timers/promises";
import { evaluate } from "../../lib/evaluate/evaluate.ts";
import type { Agent } from "../../lib/rollout/agents/agent.ts";

const [output = "", ms = "0"] = process.argv.slice(2);

const questions = Array.from({ length: 60 }, (_, i) => ({
  id: `q${i}`,
  question: `who ${i}?`,
  answers: [`${i % 7}`],
}));

const agent: Agent = async ({ id }) => {
  const number = Number(id.slice(1));
  await setTimeout(Number(ms) * (1 + (number % 3)));
  return {
    ...{ id: `${id}#0`, questionId: id, turns: 1, stop: "answer", rounds: number % 4, weightsVersion: 0 },
    ...{ queries: [], invalidActions: 0, failures: 0 },
    answer: `${number % 5}`,
    segments: [{ kind: "policy", tokens: new Int32Array(number), text: `says ${number}` }],
    timings: { generateMs: 1, searchMs: 0, totalMs: 1 },
  };
};

const { perQuestion, secondsPerQuestion, ...figures } = await evaluate({
  ...{ questions, agent, output, concurrency: 4, resume: true, settings: { model: "a" } },
});
process.stdout.write(JSON.stringify({ figures, order: perQuestion.map(({ id }) => id) }));

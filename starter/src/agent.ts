/** A search agent over data/corpus.jsonl: evaluates it, trains it by reinforcement learning, evaluates it again, asks it. */
import { cp } from "node:fs/promises";
import {
  type Agent,
  algorithms,
  ChatTemplate,
  Engine,
  evaluate,
  Model,
  openLearners,
  policyAnswer,
  rl,
  schedule,
  searchAgent,
  Tokenizer,
} from "seekrl";
import { type Question, readQuestions } from "seekrl/data";
import { exactMatch, type Reward } from "seekrl/rewards";
import { buildIndex, openIndex } from "seekrl/search";
import { worldRecipe } from "seekrl/world";

const steps = Number(process.env.STEPS ?? 40);
if (!Number.isInteger(steps) || steps < 1) {
  console.error(`STEPS: expected a whole number of at least 1, got ${process.env.STEPS}`);
  process.exit(2);
}

// The model: a folder of Hugging Face's form. This one has a million parameters, and knows the tags of this recipe alone.
const folder = "node_modules/seekrl/world/hasty";
const model = await Model.load(folder);
const tokenizer = await Tokenizer.load(folder);
const chatTemplate = await ChatTemplate.load(folder);
const engine = await Engine.open(model, { tokenizer });

// The search, by words and by vectors, over your passages: {"id", "title", "text"} a line.
await buildIndex({ corpus: "data/corpus.jsonl", out: "index" });
const search = await openIndex("index");

// The agent: its prompt, tags and limits. For a model that follows instructions: ragR1 of seekrl/recipes.
const recipe = worldRecipe({ queries: "multi" });
const agent = searchAgent({ engine, tokenizer, chatTemplate, search, ...recipe });

// The reward of a rollout: right or not, and a little for having searched at all.
const reward: Reward = ({ answer = "", queries }, { answers }) =>
  exactMatch(answer, answers) + (queries.length > 0 ? 0.1 : 0);

async function questionsOf(path: string): Promise<Question[]> {
  const questions: Question[] = [];
  for await (const question of readQuestions(path)) questions.push(question);
  return questions;
}

const [train, test] = [await questionsOf("data/train.jsonl"), await questionsOf("data/test.jsonl")];

const greedy: Agent = (question, options) => agent(question, { ...options, sampling: { temperature: 0 } });

async function tell(when: string): Promise<void> {
  const { em, rounds } = await evaluate({ questions: test, agent: greedy });
  console.log(`${when}: ${(100 * em).toFixed(1)} % right, ${rounds.toFixed(2)} searches a question`);
}

await tell("before");
const algorithm = algorithms.grpo;
await using opened = await openLearners(model, algorithm, { weightDecay: 0 });
await rl({
  learners: opened.learners,
  task: { questions: train, rollout: agent.rollouts, reward },
  algorithm,
  batch: { questions: 16, samples: 4 },
  steps,
  learningRate: { policy: schedule({ peak: 4e-4, warmupSteps: 2, decay: "linear", steps }) },
  onStep: ({ step, ...metrics }) => console.log(`step ${step}: reward ${metrics["reward/mean"]?.toFixed(2)}`),
});
await tell("after");

// One conversation as it went: what the agent was asked and said, and, indented, what its search gave back.
const [sample] = test;
const question = process.argv[2] ?? sample?.question ?? "";
const asked = await agent({ question }, { sampling: { temperature: 0 } });
for (const { kind, text } of asked.segments)
  console.log(text.trim().replace(/^/gm, kind === "observation" ? "    " : ""));
const right = question === sample?.question ? `, right is ${sample.answers.join(" or ")}` : "";
console.log(`answer: ${policyAnswer(asked) ?? "none"}${right}; searches: ${asked.queries.flat().length}`);

// What was trained, with the tokenizer that it came with.
await cp(folder, "model", { recursive: true, filter: (path) => !path.endsWith(".safetensors") });
await model.save("model");
await engine.close();

/** A real model that has learnt one conversation with a tool by heart: it calls, reads and answers. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { native } from "../../lib/base/addon/native.ts";
import { Engine } from "../../lib/engine/engine.ts";
import { Model } from "../../lib/model/model.ts";
import { reSearch } from "../../lib/recipes/re-search.ts";
import { searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { toolFormat } from "../../lib/rollout/formats/tool-format.ts";
import { calculatorTool } from "../../lib/rollout/tools/built-in/calculator.ts";
import { toolBox } from "../../lib/rollout/tools/tool-box.ts";
import { trajectoryTokens } from "../../lib/rollout/trajectory.ts";
import { ChatTemplate } from "../../lib/text/templates/chat-template.ts";
import { Tokenizer } from "../../lib/text/tokenizers/tokenizer.ts";
import { schedule } from "../../lib/train/algorithm/schedule.ts";
import { sftSequence } from "../../lib/train/batch/sequence.ts";
import { scoreSequences, Trainer } from "../../lib/train/learner/trainer.ts";
import { sft } from "../../lib/train/sft.ts";
import { projectRoot } from "../project.ts";
import { ScriptedSequence } from "./doubles.ts";
import { trainableTokens, trajectoryLogprobs } from "./stack/flat.ts";

await native().setNumThreads(1);
const tokenizer = await Tokenizer.load(join(projectRoot, "test", "golden", "text", "byte-level"));
const chatTemplate = new ChatTemplate(
  "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}" +
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
);
const tools = toolBox([calculatorTool()]);
const recipe = reSearch({ tools });
const parts = {
  ...{ ...recipe, tokenizer, chatTemplate, search: async () => [], sampling: { temperature: 0 } },
  // The schemas are long, and nothing is learnt from them here.
  format: toolFormat(tools.tools, { templateText: "Calculate." }),
};
const question = { id: "q", question: "6 times 7?", answers: ["42"] };
const turns = [
  ' </think><tool_call>{"name": "calculator", "arguments": {"expression": "6 * 7"}}</tool_call><|im_end|>',
  " </think> \\boxed{42}<|im_end|>",
];

const sizes = { hiddenSize: 64, intermediateSize: 128, numLayers: 2, numHeads: 4, maxPosition: 1024 };
const model = await Model.create(
  { vocabSize: tokenizer.vocabSize, tieEmbeddings: true, ...sizes },
  { seed: 1, std: 0.05 },
);
const trainer = await Trainer.open(model);
const engine = await Engine.open(model, { tokenizer });
after(async () => {
  await engine.close();
  trainer.close();
  model.close();
});

test("a model calls a tool, reads the result and answers; what it sampled scores the same in training", async () => {
  const said = turns.map((turn) => ({ ids: tokenizer.encode(turn), stop: "eos" as const }));
  const demonstration = await searchAgent({
    ...parts,
    engine: { open: () => new ScriptedSequence(...said) },
  })(question);
  const batch = () => [sftSequence(demonstration.segments)];
  await sft({ trainer, batch, steps: 80, learningRate: schedule({ peak: 3e-3, warmupSteps: 5 }) });

  const played = await searchAgent({ ...parts, engine })(question);
  assert.deepEqual([played.answer, played.stop, played.rounds, played.failures], ["42", "answer", 1, 0]);
  assert.deepEqual(trajectoryTokens(played), trajectoryTokens(demonstration));
  assert.match(played.segments[2]?.text ?? "", /\n42\n<\/tool_response>/);
  assert.equal(recipe.reward(played, question), 1);

  const { logprobs } = await scoreSequences(model, [sftSequence(played.segments)]);
  const trainable = trainableTokens(played);
  const generated = trajectoryLogprobs(played).filter((_, i) => trainable[i]);
  assert.deepEqual(logprobs, [Float32Array.from(generated)]);
});

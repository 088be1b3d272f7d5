/** "At full size" of the published systems' pages: the hours are those that `seekrl plan` computes for the hardware that is named. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { planCommand } from "../../apps/cli/commands/train/plan.ts";
import { chooseRecipe, type RecipeInput } from "../../apps/cli/options/recipe-options.ts";
import { projectRoot } from "../project.ts";

/** A row of a page's table. */
interface Row {
  /** Words of its first cell. */
  readonly words: RegExp;
  readonly model?: string;
  readonly gpus?: number;
  readonly gpu: string;
  readonly recipe: RecipeInput;
  readonly zero?: number;
  readonly moments?: "8-bit";
  /** That the hours are of, where the page trains for another number than the recipe. */
  readonly steps?: number;
}

const ragR1 = { name: "rag-r1", queries: "multi" } as const;
const grpo = { name: "search-r1", algorithm: "grpo" } as const;
const llama = "llama-3.1-8b";
const rows: Readonly<Record<string, readonly Row[]>> = {
  "rag-r1": [
    { words: /^8 A100 .* 8 bits/, gpu: "a100", recipe: ragR1, moments: "8-bit" },
    { words: /^8 H200, moments in 32 bits/, gpu: "h200", recipe: ragR1 },
  ],
  "search-r1": [
    { words: /^7B, PPO; .* 8 bits/, gpu: "h100", recipe: { name: "search-r1" }, moments: "8-bit" },
    { words: /^7B, GRPO/, gpu: "h100", recipe: grpo },
    { words: /^3B, PPO/, model: "qwen2.5-3b", gpu: "h100", recipe: { name: "search-r1" } },
    { words: /^3B, GRPO/, model: "qwen2.5-3b", gpu: "h100", recipe: grpo },
  ],
  research: [
    { words: /^8 H100/, gpu: "h100", recipe: { name: "research" } },
    { words: /^64 H100/, gpus: 64, gpu: "h100", recipe: { name: "research" } },
  ],
  "r1-searcher": [
    { words: /stage 1, 23 steps/, model: llama, gpu: "a100", recipe: { name: "r1-searcher", stage: 1 } },
    { words: /stage 2, 125 steps/, model: llama, gpu: "a100", recipe: { name: "r1-searcher", stage: 2 } },
    { words: /^Qwen2.5-7B.* 127 steps/, gpu: "a100", recipe: { name: "r1-searcher", stage: "zero" } },
  ],
  // An adapter's frozen weights are on every card: nothing is shared out.
  "agentic-rag-r1": [
    { words: /^8 A100/, gpu: "a100", recipe: { name: "agentic-rag-r1" }, zero: 0, steps: 200 },
  ],
};

/** What `seekrl plan --json` says of one layout. */
interface Planned {
  readonly plans: readonly {
    readonly layouts: readonly { readonly fits: boolean; readonly seconds: { readonly total: number } }[];
  }[];
}

async function secondsOf({ model = "qwen2.5-7b", gpus = 8, gpu, recipe, zero = 3, moments }: Row) {
  let result: object = {};
  const quiet = { json: true, signal: new AbortController().signal, write: () => {}, log: () => {} };
  const { env, stdin, stdout, stderr } = process;
  const given = { model, gpus: [gpus], gpu, recipe, zero, tensor: 1, moments };
  const options = planCommand.options.parse(JSON.parse(JSON.stringify(given)));
  await planCommand.run(options, {
    ...{ ...quiet, env, stdin: () => stdin, stdout, stderr },
    result: (value) => {
      result = value;
    },
  });
  const [layout] = (result as Planned).plans[0]?.layouts ?? [];
  assert.ok(layout?.fits, JSON.stringify(given));
  return layout.seconds.total;
}

/** Half of the last digit that is shown, and as much as digits that were left out before. */
function isRounded(shown: string, value: number): boolean {
  const half = 0.5 * 10 ** -(shown.split(".")[1]?.length ?? 0);
  return Math.abs(Number(shown) - value) <= half + 0.005 * value;
}

for (const [name, expected] of Object.entries(rows)) {
  test(`the hours of docs/systems/${name}.md are those of the plan`, async () => {
    const page = readFileSync(join(projectRoot, "docs", "systems", `${name}.md`), "utf8");
    const [, section = ""] = /\n## At full size\n([\s\S]*?)(?=\n## )/.exec(page) ?? [];
    const [hardware, scores] = ["\nnpx seekrl launch --processes 8 -- train --recipe ", "What "];
    for (const part of ["npx seekrl plan --model", hardware, `\n${scores}`])
      assert.ok(section.includes(part), part);
    assert.match(page, new RegExp(`\\nnpx seekrl eval --recipe ${name}[ ,]`));
    const shown = [...section.matchAll(/^\| ([^|]+) \| ([\d.]+) \| ([\d.]+) \|$/gm)];
    assert.equal(shown.length, expected.length);
    for (const [place, row] of expected.entries()) {
      const [, words = "", seconds = "", hours = ""] = shown[place] ?? [];
      assert.match(words, row.words);
      const computed = await secondsOf(row);
      const { steps = chooseRecipe(row.recipe).training.steps } = row;
      assert.ok(isRounded(seconds, computed), `${words}: ${computed} s a step`);
      assert.ok(isRounded(hours, (computed * steps) / 3600), `${words}: ${(computed * steps) / 3600} hours`);
    }
  });
}

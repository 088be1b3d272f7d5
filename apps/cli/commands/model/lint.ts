/** `seekrl lint`: whether a model fits a recipe, and whether what is sampled is what is trained. */
import { z } from "zod";
import { SeekError } from "../../../../lib/base/errors.ts";
import { agentPartsOf } from "../../../../lib/recipes/plan.ts";
import { readTokenizerConfig } from "../../../../lib/text/tokenizers/special-ids.ts";
import type { Finding } from "../../../lint/finding.ts";
import type { LintReport } from "../../../lint/lint.ts";
import { spansText } from "../../../lint/render.ts";
import type { LintSubject } from "../../../lint/subject.ts";
import { worldSearch } from "../../../lint/world-search.ts";
import { type CommandIo, command } from "../../command.ts";
import { askedRecipe, recipeAsked } from "../../open/asked-recipe.ts";
import { openLocalPolicy, policyFolders } from "../../open/local-policy.ts";
import { agentOptions, openEnvironment } from "../../options/agent-options.ts";
import { modelOptions } from "../../options/model-options.ts";
import { askedRecipeOptions } from "../../options/recipe-options.ts";
import { tableOf } from "../../report/table.ts";

const schema = z.strictObject({
  ...modelOptions,
  ...agentOptions,
  ...askedRecipeOptions,
  question: z.string().min(1).optional().describe("what is asked (one of the built-in world)"),
});

/** The command. */
export const lintCommand = command({
  name: "lint",
  summary: "checks that model, template and recipe fit, and that what is sampled is what is trained",
  options: schema,
  run: async (options, io) => {
    const world = worldSearch();
    const folders = await policyFolders(options);
    const asked = await askedRecipe(folders, options);
    if (asked.told !== undefined) io.log(asked.told);
    await using environment = await openEnvironment({ ...options, recipe: asked.choice }, io, world.search);
    const recipe = recipeAsked(asked, options, environment);
    await using policy = await openLocalPolicy({ ...options, ...folders }, io);
    const { ids } = await readTokenizerConfig(folders.model);
    const report = await runLint({
      ...{ parts: agentPartsOf(policy, recipe, environment.search), reward: recipe.reward },
      ...{ tokenizer: policy.tokenizer, model: policy.policy },
      signal: io.signal,
      question: { id: "lint", question: options.question ?? world.question, answers: [] },
      endIds: ids.eos_token_id ?? undefined,
      aggregation: recipe.algorithm.aggregation,
    });
    show(report, io);
    const failed = report.findings.filter(({ status }) => status === "fail").length;
    if (failed === 0) return;
    const what = `${options.model} with ${asked.choice.name}`;
    throw new SeekError("ERR_FORMAT", `${what}: ${failed} of ${report.findings.length} checks failed`);
  },
});

// Native code is loaded on demand.
async function runLint(subject: LintSubject): Promise<LintReport> {
  const { lint } = await import("../../../lint/lint.ts");
  return lint(subject);
}

const titles: Readonly<Record<string, string>> = {
  free: "A conversation as the engine samples it",
  written: "A conversation that searches and answers",
};

function show(report: LintReport, io: CommandIo): void {
  const colour = io.stdout.isTTY === true;
  for (const { name, spans } of report.conversations) {
    const title = titles[name];
    if (title === undefined) continue;
    const how = colour ? "what is trained is bright" : "what is trained stands in ⟦brackets⟧";
    io.write(`${title}; ${how}:\n\n${spansText(spans, { colour })}\n\n`);
  }
  io.write(tableOf([["", "law", "check", "evidence"], ...report.findings.map(rowOf)], () => true));
  io.result(report);
}

const words = { pass: "PASS", fail: "FAIL", skip: "-" } as const;

function rowOf({ status, law, check, evidence }: Finding): string[] {
  return [words[status], law === undefined ? "" : String(law), check, evidence];
}

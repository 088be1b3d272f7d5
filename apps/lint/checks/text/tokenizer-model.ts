/** The tokenizer is the model's: its ids have weights, its marks are one token each, a text begins once. */
import { promptText } from "../../../../lib/rollout/session/prompt.ts";
import { type Finding, verdict } from "../../finding.ts";
import { renderedMarks } from "../../marks.ts";
import type { LintSubject } from "../../subject.ts";

const subject = { check: "tokenizer and model agree: vocabulary, marks, beginning of text" };

/** Compares their sizes and looks at the ids of the prompt. */
export function checkTokenizerModel(linted: LintSubject): Finding {
  const { tokenizer, model } = linted;
  const problems = [...sizeProblems(linted), ...markProblems(linted), ...beginningProblems(linted)];
  const spare = model.config.vocabSize - tokenizer.vocabSize;
  const sizes = `${tokenizer.vocabSize} ids, ${model.config.vocabSize} rows (${spare} to spare)`;
  const marks = renderedMarks(linted).map((mark) => `${mark} ${tokenizer.encode(mark).join(" ")}`);
  return verdict(subject, problems, [sizes, ...marks].join("; "));
}

function sizeProblems({ tokenizer, model, endIds = [] }: LintSubject): string[] {
  const { vocabSize } = model.config;
  const named = [...tokenizer.specialTokens, ...endIds.map((id) => ["end of text", id] as const)];
  const outside = named.find(([, id]) => id >= vocabSize);
  return [
    ...(tokenizer.vocabSize <= vocabSize
      ? []
      : [`the tokenizer has ${tokenizer.vocabSize} ids, the model weights for ${vocabSize}`]),
    ...(outside === undefined ? [] : [`${outside[0]}: expected an id below ${vocabSize}, got ${outside[1]}`]),
  ];
}

/** A mark that falls into pieces is no mark to the model. */
function markProblems(linted: LintSubject): string[] {
  const { tokenizer } = linted;
  return renderedMarks(linted).flatMap((mark) => {
    const ids = [...tokenizer.encode(mark)];
    if (ids.length === 1) return [];
    return [`the chat template writes ${mark}, expected one token, got ${ids.length}: [${ids.join(", ")}]`];
  });
}

function beginningProblems({ tokenizer, parts, question }: LintSubject): string[] {
  const { bosId, marks } = tokenizer;
  if (bosId === undefined || !marks.prefix.includes(bosId)) return [];
  const text = promptText(parts.format, question.question, parts.chatTemplate);
  const ids = parts.tokenizer.encode(text, { beginsText: true });
  const count = ids.filter((id) => id === bosId).length;
  if (count === 1 && ids[0] === bosId) return [];
  const first = [...ids.subarray(0, 3)].join(", ");
  return [
    `the prompt should begin with ${bosId} ${tokenizer.tokenOf(bosId)} once: ${count} found, begins [${first}]`,
  ];
}

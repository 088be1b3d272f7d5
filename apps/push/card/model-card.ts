/** The model card: what a repository's README.md says of the model, how it was trained, how good it is, how it is asked. */
import type { BaseModel } from "./base-model.ts";
import type { CardFacts, TrainingFacts } from "./card-facts.ts";
import { frontMatter } from "./front-matter.ts";
import { type SetScores, scoreNames } from "./scores.ts";
import { usageText } from "./usage.ts";

/**
 * The text of a model card.
 *
 * @param facts - what it states
 * @returns metadata as YAML, and Markdown
 */
export async function modelCard(facts: CardFacts): Promise<string> {
  const { stringify } = await import("yaml");
  const { id, training, scores, version } = facts;
  const sections = [
    `---\n${stringify(frontMatter(facts))}---`,
    `# ${id.split("/")[1]}`,
    aboutText(facts),
    ...(scores.length === 0 ? [] : [`## Scores\n\n${scoresText(scores)}`]),
    ...(training === undefined ? [] : [`## Training\n\n${trainingText(training)}`]),
    `## Use\n\n${usageText(facts)}`,
    `Made with SeekRL ${version}.`,
  ];
  return `${sections.join("\n\n")}\n`;
}

function aboutText({ kind, base, training }: CardFacts): string {
  const what = kind === "adapter" ? "A LoRA adapter" : "A language model";
  const of = base === undefined ? "" : ` ${kind === "adapter" ? "on" : "made from"} ${baseText(base)}`;
  if (training === undefined) return `${what}${of} that reasons with search.`;
  const how =
    training.kind === "sft"
      ? "supervised training on conversations with a search"
      : "reinforcement learning: it reasons, searches, reads what was found, and answers";
  return `${what}${of}, trained by ${how}.`;
}

function baseText({ name, isOnHub, revision }: BaseModel): string {
  if (!isOnHub) return `\`${name}\``;
  return `[${name}](https://huggingface.co/${name})${revision === undefined ? "" : ` at \`${revision}\``}`;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map(cell).join(" | ")} |`;
  return [line(head), `|${"---|".repeat(head.length)}`, ...rows.map(line)].join("\n");
}

function scoresText(sets: readonly SetScores[]): string {
  const areCounted = sets.some(({ numQuestions }) => numQuestions !== undefined);
  const rows = sets.map(({ set, numQuestions, step, scores }) => [
    step === undefined ? set : `${set}, while it was trained, step ${step}`,
    ...(areCounted ? [`${numQuestions ?? ""}`] : []),
    ...scoreNames.map((name) => scoreText(scores.find((each) => each.name === name))),
  ]);
  const hasInterval = sets.some(({ scores }) => scores.some(({ interval }) => interval !== undefined));
  const note = hasInterval ? "\n\nIn parentheses the 95 % interval, by resampling questions." : "";
  return `${table(["questions", ...(areCounted ? ["number"] : []), "exact match", "F1"], rows)}${note}`;
}

function scoreText(score: SetScores["scores"][number] | undefined): string {
  if (score === undefined) return "";
  const ends = score.interval?.map((end) => end.toFixed(3)).join(" to ");
  return ends === undefined ? score.value.toFixed(3) : `${score.value.toFixed(3)} (${ends})`;
}

function trainingText(training: TrainingFacts): string {
  const { data, otherSettings, recipe } = training;
  const parts = [table(["", ""], training.kind === "rl" ? rlRows(training) : sftRows(training))];
  if (data.length > 0) parts.push(`### Data\n\n${dataText(training)}`);
  if (otherSettings !== undefined && otherSettings.length > 0) {
    const rows = otherSettings.map(({ path, own, recipes }) => [path, own ?? "none", recipes ?? "none"]);
    const head = ["setting", "here", `recipe ${recipe?.name}`];
    parts.push(`### Settings that are not the recipe's\n\n${table(head, rows)}`);
  }
  return parts.join("\n\n");
}

function rlRows(training: TrainingFacts): string[][] {
  const { recipe, algorithm, config } = training;
  const choices =
    recipe === undefined || recipe.choices.length === 0 ? "" : ` (${recipe.choices.join(", ")})`;
  return [
    ["recipe", recipe === undefined ? "none" : `${recipe.name}${choices}`],
    ["algorithm", algorithm],
    ...commonRows(training),
    ...numbers({ "questions a step": config.batchQuestions, "rollouts of each": config.samples }),
  ];
}

function sftRows(training: TrainingFacts): string[][] {
  const { batchSize, epochs } = training.config;
  return [
    ["algorithm", "supervised"],
    ...commonRows(training),
    ...numbers({ "batch size": batchSize, epochs }),
  ];
}

function commonRows({ step, steps, config }: TrainingFacts): string[][] {
  const { learningRate, seed, lora } = config;
  const { rank } = Object(lora) as { readonly rank?: unknown };
  const done = steps === undefined || steps === step ? String(step) : `${step} of ${steps}`;
  return [["steps", done], ...numbers({ "learning rate": learningRate, "rank of the adapter": rank, seed })];
}

function numbers(values: Readonly<Record<string, unknown>>): string[][] {
  return Object.entries(values).flatMap(([name, value]) =>
    typeof value === "number" ? [[name, String(value)]] : [],
  );
}

function dataText({ data }: TrainingFacts): string {
  const rows = data.map(({ role, name, sha256 }) => [
    ...[role, `\`${name}\``, sha256 === undefined ? "" : `\`${sha256}\``],
  ]);
  return table(["", "file", "SHA-256"], rows);
}

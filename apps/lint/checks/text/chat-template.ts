/** The chat template says what the recipe says, and a turn that is rendered again is still the turn that was read. */
import { promptText } from "../../../../lib/rollout/session/prompt.ts";
import { type Finding, skipped, verdict } from "../../finding.ts";
import type { LintSubject } from "../../subject.ts";
import { turnsFor } from "../../written.ts";

const subject = { check: "the chat template keeps what was said, or drops thoughts on purpose" };

interface Message {
  readonly role: string;
  readonly content: string;
}

/** How a turn that is rendered again differs from what the model wrote. */
type Change = "kept" | "spaced" | "thoughtless" | "changed";

/** Renders the turns so far, one after another. */
export function checkChatTemplate(linted: LintSubject): Finding {
  const { format, chatTemplate } = linted.parts;
  if (format.isBare) return skipped(subject, "the recipe's prompt is bare: no template is used");
  if (chatTemplate === undefined)
    return skipped(subject, "the folder has no chat template: messages stand alone");
  try {
    const problems = promptProblems(linted);
    if (problems.length > 0) return verdict(subject, problems, "");
    return rerendered(linted);
  } catch (error) {
    return verdict(subject, [(error as Error).message], "");
  }
}

function opening({ parts, question }: LintSubject): Message[] {
  const { system, prompt } = parts.format;
  const user = { role: "user", content: prompt(question.question) };
  return system === undefined ? [user] : [{ role: "system", content: system }, user];
}

function promptProblems(linted: LintSubject): string[] {
  const { format, chatTemplate } = linted.parts;
  const messages = opening(linted);
  const text = promptText(format, linted.question.question, chatTemplate);
  const plain = chatTemplate?.render(messages, { addGenerationPrompt: false }) ?? "";
  const begins = text.startsWith(plain) && text.length > plain.length + (format.prefix ?? "").length;
  return begins ? [] : ["the prompt does not begin the model's turn: addGenerationPrompt adds nothing"];
}

/** Two turns of the model with the user's word between them. */
function rerendered(linted: LintSubject): Finding {
  const { format, chatTemplate } = linted.parts;
  const turns = linted.turns ?? turnsFor(format);
  const thought = "<think> A thought. </think>\n";
  const written = turns?.answer(" A thought.", "lint") ?? `${thought}<answer> lint </answer>`;
  const said = `${format.prefix ?? ""}${written}`;
  const begun = opening(linted);
  const assistant = { role: "assistant", content: said };
  const render = (messages: readonly Message[], addGenerationPrompt = false): string =>
    chatTemplate?.render(messages, { addGenerationPrompt }) ?? "";
  const head = render(begun, true);
  const last = changeOf(said, after(render([...begun, assistant]), head));
  const next = [...begun, assistant, { role: "user", content: "Are you sure?" }];
  const earlier = changeOf(said, after(render(next, true), head));
  return judge(last, earlier);
}

/** What follows the prompt; a template may word the model's beginning otherwise once there is a turn. */
function after(text: string, head: string): string {
  let same = 0;
  while (same < head.length && text[same] === head[same]) same += 1;
  return text.slice(same);
}

function changeOf(said: string, text: string): Change {
  if (text.startsWith(said)) return "kept";
  const bare = (part: string): string => part.replace(/\s+/g, "");
  if (bare(text).includes(bare(said)) || bare(`<think>${text}`).includes(bare(said))) return "spaced";
  const answer = said.slice(said.lastIndexOf("</think>") + "</think>".length);
  return said.includes("</think>") && bare(text).includes(bare(answer)) ? "thoughtless" : "changed";
}

const describe: Readonly<Record<Change, string>> = {
  kept: "as it was said",
  spaced: "with other white space",
  thoughtless: "without its thought",
  changed: "with other words",
};

function judge(last: Change, earlier: Change): Finding {
  const seen = `the last turn is rendered ${describe[last]}, an earlier one ${describe[earlier]}`;
  if (last === "thoughtless") {
    const why = "a fault: demonstrations written with it train no thoughts";
    return verdict(subject, [`${seen}: ${why}`], "");
  }
  if (last === "changed" || earlier === "changed") return verdict(subject, [seen], "");
  const harmless = "rollouts append what was sampled and never render it again";
  if (earlier === "thoughtless") return verdict(subject, [], `${seen}: on purpose; ${harmless}`);
  return verdict(subject, [], last === "kept" && earlier === "kept" ? seen : `${seen}; ${harmless}`);
}

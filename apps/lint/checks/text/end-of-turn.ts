/** The mark that ends a turn also ends generation, and it is trained. */

import type { Conversations } from "../../conversations.ts";
import { type Finding, verdict } from "../../finding.ts";
import { renderedEnd } from "../../marks.ts";
import type { LintSubject } from "../../subject.ts";

const subject = { check: "the end of a turn is trained, and the model's own", law: 2 };

/** Looks at a turn that the end of a text closed. */
export function checkEndOfTurn({ subject: linted, ended }: Conversations): Finding {
  const { tokenizer } = linted;
  const [end] = tokenizer.eosIds;
  if (end === undefined) {
    return verdict(subject, ["the tokenizer's files name no end of text: a model can never end a turn"], "");
  }
  const [call] = ended.calls;
  const at = (call?.context.length ?? 0) + (call?.ids.length ?? 0) - 1;
  const isTrained = ended.sequences.some(({ tokens, rows }) => tokens[at] === end && rows.includes(at - 1));
  const name = `${end} ${tokenizer.tokenOf(end)}`;
  const problems = isTrained ? [] : [`${name} ended the turn and is not trained`];
  return verdict(subject, [...problems, ...markProblems(linted)], seen(linted, name));
}

function seen({ tokenizer, endIds }: LintSubject, name: string): string {
  const all = tokenizer.eosIds.map((id) => `${id} ${tokenizer.tokenOf(id)}`).join(", ");
  const where = endIds === undefined ? "named by the tokenizer alone" : "named by the model's configuration";
  return `${name} is trained; ends: ${all}, ${where}`;
}

/** What closes a turn of the chat template must be among the ids that the model's configuration names. */
function markProblems(linted: LintSubject): string[] {
  const { tokenizer, endIds } = linted;
  const mark = renderedEnd(linted);
  if (mark === undefined) return [];
  const [id] = tokenizer.encode(mark);
  const ids = endIds ?? tokenizer.eosIds;
  if (id !== undefined && ids.includes(id)) return [];
  const list = ids.map((each) => `${each} ${tokenizer.tokenOf(each)}`).join(", ");
  const who = endIds === undefined ? "the tokenizer's files" : "generation_config.json or config.json";
  return [`the chat template ends a turn with ${mark} (${id}), expected one of those in ${who}: ${list}`];
}

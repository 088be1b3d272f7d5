/** Law 2: the loss looks at the policy's tokens, at each once, and at nothing else. */
import type { Tokenizer } from "../../../../lib/text/tokenizers/tokenizer.ts";
import { type Conversation, type Conversations, conversationsOf } from "../../conversations.ts";
import { type Finding, quote, verdict } from "../../finding.ts";
import { type Placement, placeOf } from "../text/placement.ts";

const subject = { check: "the loss spans the policy's tokens and nothing else", law: 2 };

/** Compares the rows with the places of what was sampled. */
export function checkLossSpans(all: Conversations): Finding {
  const conversations = conversationsOf(all);
  const problems = conversations.flatMap((each) => problemsOf(each, all.subject.tokenizer));
  const rows = all.free.sequences.reduce((sum, each) => sum + each.rows.length, 0);
  const tokens = all.free.sequences.reduce((sum, each) => sum + each.tokens.length, 0);
  return verdict(subject, problems, `${rows} of ${tokens} tokens are trained, in ${spansOf(all.free)}`);
}

function placesOf({ calls, sequences }: Conversation): Placement[] {
  return calls.flatMap((call) => placeOf(call, sequences) ?? []);
}

function spansOf(conversation: Conversation): string {
  const spans = placesOf(conversation).map(({ from, to }) => `${from} to ${to - 1}`);
  return `spans ${spans.join(", ")}`;
}

function problemsOf(conversation: Conversation, tokenizer: Tokenizer): string[] {
  const { name, sequences } = conversation;
  const places = placesOf(conversation);
  return sequences.flatMap(({ tokens, rows }, sequence) => {
    const wanted = new Set<number>();
    for (const { from, to } of places.filter((each) => each.sequence === sequence)) {
      for (let at = Math.max(1, from); at < to; at += 1) wanted.add(at);
    }
    const trained = Array.from(rows, (row) => row + 1);
    const twice = trained.find((at, i) => trained.indexOf(at) !== i);
    const extra = trained.find((at) => !wanted.has(at));
    const missing = [...wanted].find((at) => !trained.includes(at));
    const show = (at: number): string => `token ${at}, ${quote(tokenizer.decode([tokens[at] ?? 0]))},`;
    return [
      ...(extra === undefined ? [] : [`${name}: ${show(extra)} is trained and was not sampled`]),
      ...(missing === undefined ? [] : [`${name}: ${show(missing)} was sampled and is not trained`]),
      ...(twice === undefined ? [] : [`${name}: ${show(twice)} is trained twice`]),
    ];
  });
}

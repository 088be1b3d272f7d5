/** Law 1: each token is trained behind exactly the tokens that the engine held when it sampled it. */
import { type Conversation, type Conversations, conversationsOf } from "../../conversations.ts";
import { type Finding, verdict } from "../../finding.ts";
import { placeOf } from "./placement.ts";

const subject = { check: "the trained prefix is what the engine read", law: 1 };

/** Looks for every request's context in front of its tokens. */
export function checkPrefix(all: Conversations): Finding {
  const conversations = conversationsOf(all);
  const problems = conversations.flatMap(problemsOf);
  const lengths = all.free.calls.map(({ context, ids }) => `${context.length}+${ids.length}`);
  return verdict(subject, problems, `tokens read + sampled, turn by turn: ${lengths.join(", ")}`);
}

function problemsOf({ name, calls, sequences }: Conversation): string[] {
  return calls.flatMap((call, turn) => {
    if (placeOf(call, sequences)) return [];
    const { context } = call;
    const agreements = sequences.map(({ tokens }) => {
      const at = context.findIndex((id, i) => tokens[i] !== id);
      return at < 0 ? context.length : at;
    });
    const same = Math.max(0, ...agreements);
    return [
      `${name}, turn ${turn + 1}: the engine held ${context.length} tokens, of which a sequence has ${same}`,
    ];
  });
}

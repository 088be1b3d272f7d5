/** A search agent that answers in a chat: each message is a question by itself. */
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import type { TitledText } from "../../../lib/text/observation.ts";
import type { Reply, Speaker } from "./speaker.ts";

/**
 * An agent as a speaker: shows thoughts, queries and the titles of what was found.
 *
 * @param parts - of the agent
 * @param seed - of every sampled token
 */
export function agentSpeaker(parts: AgentParts, seed: number): Speaker {
  return {
    reply: async function* (messages, signal) {
      const question = messages.at(-1)?.content ?? "";
      for await (const event of searchAgent(parts).stream({ question }, { seed, signal })) {
        if (event.type === "text") yield event.text;
        if (event.type === "turn") yield "\n";
        if (event.type === "documents") yield event.documents.map(foundText).join("");
        if (event.type === "failure") yield `  a search failed: ${event.reason}\n`;
        if (event.type === "done") return replyOf(event.trajectory);
      }
      return { content: "", note: "stopped" };
    },
  };
}

/** The titles of what a query found, a line. */
export function foundText(documents: readonly TitledText[]): string {
  const titles = documents.map(({ title, text }) => title || text.slice(0, 60)).join("; ");
  return `  found: ${titles || "nothing"}\n`;
}

function replyOf({ answer, stop, rounds }: Trajectory): Reply {
  const searches = rounds === 1 ? "1 search" : `${rounds} searches`;
  if (answer !== undefined) return { content: answer, note: `answer: ${answer}, ${searches}` };
  return { content: "", note: stop === "aborted" ? "stopped" : `no answer (${stop}), ${searches}` };
}

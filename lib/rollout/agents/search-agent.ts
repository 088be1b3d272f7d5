/** The search agent: thinks, searches and answers in the turns of a format. */
import { checkArgument } from "../../base/check-options.ts";
import type { Format } from "../formats/format.ts";
import type { Limits } from "../limits.ts";
import type { Sampling } from "../seams.ts";
import { FormatTurns } from "../session/format-turns.ts";
import type { Outcome, RolloutParts } from "../session/rollout.ts";
import { runOnStack } from "../stack/stack.ts";
import { ownAgent, type PolicyAgent } from "./agent.ts";

/** What a search agent is made of. */
export interface AgentParts extends RolloutParts {
  readonly format: Format;
  readonly limits: Limits;
  readonly sampling: Sampling;
}

/**
 * An agent: think, search, answer over an engine and a search.
 *
 * @param parts - engine, tokenizer, search, format, limits
 * @returns a function that may be called for any number of questions at once
 * @throws ERR_ARGUMENT for an unknown or missing part; from the agent: whatever the engine throws; a failing search is an observation instead. ERR_ARGUMENT when the
 *   format has a memory stack and the engine's sequences cannot forget
 * @example
 * const agent = searchAgent({ engine, tokenizer, search, ...ragR1({ queries: "multi" }) });
 * for await (const event of agent.stream({ question: "who?" })) {
 *   if (event.type === "text") process.stdout.write(event.text);
 *   if (event.type === "done") console.log(event.trajectory.stop);
 * }
 */
export function searchAgent(parts: AgentParts): PolicyAgent {
  checkArgument("searchAgent: format", parts?.format, "object");
  return ownAgent(parts, async (rollout, { question }) => {
    const turns = await FormatTurns.open(rollout, question, parts.format);
    const { memory } = parts.format;
    return memory === undefined ? runTurns(turns) : runOnStack(turns, memory);
  });
}

async function runTurns(turns: FormatTurns): Promise<Outcome> {
  const { format } = turns;
  for (;;) {
    if (turns.isUnannounced) await turns.observe("");
    const { stop, text } = await turns.generate();
    if (stop === "aborted" || stop === "context") return { stop };
    const action = format.parse(text, format);
    if (action.kind === "answer" || action.kind === "end") return { answer: action.answer, stop };
    const ended = turns.stopAfter(action, stop) ?? (await turns.observe(await turns.respond(action)));
    if (ended) return { stop: ended };
  }
}

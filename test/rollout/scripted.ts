/** A search agent over a scripted model and a recorded search. */
import { type AgentParts, searchAgent } from "../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../lib/rollout/formats/format.ts";
import { defaultLimits, type Limits } from "../../lib/rollout/limits.ts";
import type { Trajectory } from "../../lib/rollout/trajectory.ts";
import { characters, recordedSearch, type ScriptedSequence } from "./doubles.ts";

export const single = ragFormat("single");

type Around = Omit<AgentParts, "engine">;

export function environment(changes: Partial<Around> = {}, limits: Partial<Limits> = {}): Around {
  return {
    tokenizer: characters,
    search: recordedSearch(),
    format: single,
    sampling: { temperature: 0 },
    ...changes,
    limits: { ...defaultLimits, ...limits },
  };
}

export async function play(
  sequence: ScriptedSequence,
  around = environment(),
  signal?: AbortSignal,
): Promise<Trajectory> {
  const format = { ...around.format, prompt: () => "Q" };
  const agent = searchAgent({ ...around, format, engine: { open: () => sequence } });
  return agent({ id: "q", question: "q" }, { signal });
}

/** Plays scripted turns over a memory stack. */
import { type AgentParts, searchAgent } from "../../../lib/rollout/agents/search-agent.ts";
import { ragFormat } from "../../../lib/rollout/formats/format.ts";
import { stackParser, stackTurnEnds } from "../../../lib/rollout/grammars/stack-grammar.ts";
import { defaultLimits, type Limits } from "../../../lib/rollout/limits.ts";
import { defaultMemory, type Memory } from "../../../lib/rollout/memory.ts";
import type { Trajectory } from "../../../lib/rollout/trajectory.ts";
import { characters, ForgetfulSequence, recordedSearch, type ScriptedTurn } from "../doubles.ts";

export const format = {
  ...{ ...ragFormat("multi"), prompt: () => "Q", turnEnds: stackTurnEnds(), parse: stackParser() },
  lastTurn: "LAST",
};

interface Around {
  readonly memory?: Partial<Memory>;
  readonly limits?: Partial<Limits>;
  readonly changes?: Partial<AgentParts>;
  readonly signal?: AbortSignal;
  readonly seed?: number;
}

export async function play(
  sequence: ForgetfulSequence,
  { memory, limits, changes, ...options }: Around = {},
): Promise<Trajectory> {
  const agent = searchAgent({
    engine: { open: () => sequence },
    tokenizer: characters,
    search: recordedSearch(),
    format: { ...format, memory: { ...defaultMemory, demoted: "NO", ...memory } },
    sampling: {},
    ...changes,
    limits: { ...defaultLimits, maxTurns: 50, ...limits },
  });
  return agent({ question: "q" }, options);
}

/** Plays turns and gives what was visible before each, and at the end. */
export async function views(turns: readonly ScriptedTurn[], around: Around = {}) {
  const sequence = new ForgetfulSequence("Q", ...turns);
  const trajectory = await play(sequence, around);
  return { views: [...sequence.seen, sequence.text], trajectory, sequence };
}

export const plan = "<plan> a </plan>";
export const think = "<reasoning> b </reasoning>";
export const search = "<search> d, e </search>";
export const back = "<backtrack> f </backtrack>";
export const answer = "<answer> h </answer>";
